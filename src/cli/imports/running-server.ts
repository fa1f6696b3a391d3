import type { PrintedConfiguration } from '../../domain/access/access.ts';
import { ACCESS_READERS } from '../../domain/access/readers.ts';
import { KeyFileError } from '../../domain/key-formats/reader.ts';
import { IMPORT_FORMATS } from '../../domain/key-formats/readers.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import type { KeySource } from './key-file.ts';
import { readPowerdns } from './powerdns.ts';

/** Reads the keys of a running name server, and where it uses them. Throws `CommandError`. */
export async function readRunningServer(printed: PrintedConfiguration): Promise<KeySource> {
  if ('apiKey' in printed) return readPowerdns(printed.url, printed.apiKey);
  const { format, program, text } = printed;
  const none = () => [];
  try {
    const entries = IMPORT_FORMATS[format]?.read(text, none) ?? [];
    return {
      keys: entries.map((found) => ({ place: `${program}:${found.line}`, found })),
      unread: [],
      configuration: ACCESS_READERS[format]?.(text, none, program),
    };
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    const message = `The output of '${program}' cannot be read: ${error.message}`;
    throw new CommandError(EXIT.refused, message, undefined, error);
  }
}
