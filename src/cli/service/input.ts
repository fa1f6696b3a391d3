import { buffer } from 'node:stream/consumers';
import { readWholeFile } from '../../net/files.ts';
import { CommandError, EXIT, fileError } from '../output/command-error.ts';
import type { Terminal } from '../output/terminal.ts';

/** Returns the text of a file, or of standard input for `-`. Throws `CommandError`. */
export async function readText(file: string, { input }: Terminal): Promise<string> {
  const bytes = file === '-' ? await buffer(input) : readBytes(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CommandError(
      EXIT.usage,
      `'${file}' is not valid UTF-8 text`,
      'Convert the file to UTF-8.',
      cause,
    );
  }
}

/** Returns the text of a file. Throws `CommandError`. In its message, `name` precedes the path. */
export function readTextFile(path: string, name?: string): string {
  return readBytes(path, name).toString();
}

/** Returns PEM text. Throws `CommandError`, also if the file contains no usable certificate. */
export function readCertificates(path: string): string {
  const pem = readTextFile(path, 'The CA file');
  try {
    new (process.getBuiltinModule('node:crypto').X509Certificate)(pem);
    return pem;
  } catch (cause) {
    throw new CommandError(
      EXIT.usage,
      `The CA file '${path}' contains no usable certificate`,
      'Use a file with certificates in PEM format.',
      cause,
    );
  }
}

function readBytes(path: string, name?: string): Buffer {
  try {
    return readWholeFile(path);
  } catch (cause) {
    throw fileError(path, 'read', cause, name && `${name} `);
  }
}
