import { readFileSync } from 'node:fs';
import { CommandError, EXIT } from './errors.ts';
import type { Terminal } from './terminal.ts';

/** The text of a file, or of standard input for `-`. Throws `CommandError`. */
export async function readText(file: string, { input }: Terminal): Promise<string> {
  const bytes = file === '-' ? await readAll(input) : readBytes(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CommandError(EXIT.usage, `${file} is not text in UTF-8`, undefined, cause);
  }
}

async function readAll(input: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Buffer | string));
  return Buffer.concat(chunks);
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new CommandError(EXIT.usage, `${file} cannot be read: ${(cause as Error).message}`, undefined, cause);
  }
}
