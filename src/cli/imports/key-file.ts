import {
  KeyFileError,
  placeOf,
  type Entry,
  type KeyReader,
  type ReadIncluded,
} from '../../domain/key-formats/reader.ts';
import { detectFormat, IMPORT_FORMATS } from '../../domain/key-formats/readers.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { plainText } from '../output/plain-text.ts';
import type { Terminal } from '../output/terminal.ts';
import { readText } from '../service/input.ts';
import { createIncludeReader, type UnreadFile } from './include-files.ts';
import type { FoundKey } from './key-import.ts';

export async function readKeyFile(
  file: string,
  format: string | undefined,
  terminal: Terminal,
): Promise<{ readonly keys: FoundKey[]; readonly unread: readonly UnreadFile[] }> {
  const content = await readText(file, terminal);
  const reader = IMPORT_FORMATS[format ?? detectFormat(content) ?? ''];
  if (reader === undefined) {
    const hint = `Set --format to one of: ${Object.entries(IMPORT_FORMATS)
      .map(([each, { source }]) => `${each} (${source})`)
      .join(', ')}.`;
    throw new CommandError(EXIT.usage, 'Unrecognised key file format', hint);
  }
  const log = (line: string) => void terminal.err.write(`${plainText(line)}\n`);
  const included =
    reader.includes === undefined ? undefined : createIncludeReader(file, reader.includes, log);
  const entries = readEntries(reader, file, content, included?.include);
  return {
    keys: entries.map((found) => ({ place: placeOf(found), found })),
    unread: included?.unread ?? [],
  };
}

/** Returns the entries of a file. Throws `CommandError` for a syntax error. */
function readEntries(
  reader: KeyReader,
  file: string,
  content: string,
  include?: ReadIncluded,
): Entry[] {
  try {
    return reader.read(content, include, file);
  } catch (error) {
    if (error instanceof KeyFileError)
      throw new CommandError(
        EXIT.refused,
        `Nothing was imported: ${error.message}`,
        undefined,
        error,
      );
    throw error;
  }
}
