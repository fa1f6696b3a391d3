import {
  KeyFileError,
  placeOf,
  type IncludedFile,
  type KeyReader,
  type ReadIncluded,
} from '../../formats/reader.ts';
import { ACCESS_READERS } from '../../brands/access-readers.ts';
import type { PrintedConfiguration, ServerConfiguration } from '../../access/access.ts';
import { detectFormat } from '../../formats/detect.ts';
import { CLIENT_FORMATS, detectClientFormat } from '../../formats/read-client-output.ts';
import { IMPORT_FORMATS } from '../../formats/readers.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { plainText } from '../../cli/output/plain-text.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { readText } from '../../cli/service/input.ts';
import { createIncludeReader, type UnreadFile } from './include-files.ts';
import type { FoundKey } from './import-plan.ts';
import { readPowerdns } from './powerdns.ts';

/** The keys of a file or server, and who may do what there, if it says that. */
export interface KeySource {
  readonly keys: readonly FoundKey[];
  readonly unread: readonly UnreadFile[];
  /** Whether each key has its scope. */
  readonly statesScopes?: boolean;
  readonly configuration?: ServerConfiguration | undefined;
}

export const FILE_FORMATS: Readonly<Record<string, KeyReader>> = {
  ...CLIENT_FORMATS,
  ...IMPORT_FORMATS,
};

export function detectFileFormat(content: string): string | undefined {
  return detectClientFormat(content) ?? detectFormat(content);
}

export async function readKeyFile(
  file: string,
  format: string | undefined,
  terminal: Terminal,
): Promise<KeySource> {
  const content = await readText(file, terminal);
  const name = format ?? detectFileFormat(content) ?? '';
  const reader = FILE_FORMATS[name];
  if (reader === undefined) {
    const formats = Object.entries(FILE_FORMATS).map(([each, { source }]) => `${each} (${source})`);
    const hint = `Set --format to one of: ${formats.join(', ')}.`;
    throw new CommandError(EXIT.usage, 'Unrecognised key file format', hint);
  }
  const log = (line: string) => void terminal.err.write(`${plainText(line)}\n`);
  const { include, unread } = reader.includes
    ? createIncludeReader(file, reader.includes, log)
    : { include: undefined, unread: [] };
  const [first, again] = twice(include ?? (() => []));
  const path = file === '-' ? 'stdin' : file;
  return explaining(
    (problem) =>
      `Nothing was imported: ${problem.replace(/^line (?=\d)/, file === '-' ? '$&' : `${file}:`)}`,
    () => {
      const entries = reader.read(content, include && first, file);
      const configuration = include && ACCESS_READERS[name]?.(content, again, path);
      return {
        keys: entries.map((found) => ({ place: placeOf(found), found })),
        unread,
        statesScopes: reader.statesScopes === true,
        configuration: configuration && {
          ...configuration,
          unread: unread.map(({ place }) => `a file that ${place} includes`),
        },
      };
    },
  );
}

/**
 * Reads the configuration of a running name server of this machine, which contains secrets.
 * `config` is the configuration file of the service, or of the agent of the name server. `zones`
 * returns the names of zones that the server may have besides those in its files. Throws
 * `CommandError`.
 */
export type ReadRunningServer = (
  config: string | undefined,
  name: string,
  zones: () => Promise<readonly string[]>,
) => Promise<PrintedConfiguration>;

export interface ServerReader {
  readonly readNameServer: ReadRunningServer;
}

/** Reads the keys of a running name server, and where it uses them. Throws `CommandError`. */
export async function readRunningServer(printed: PrintedConfiguration): Promise<KeySource> {
  if ('apiKey' in printed) return readPowerdns(printed.url, printed.apiKey);
  const { format, program, text } = printed;
  const none = () => [];
  return explaining(
    (problem) => `The output of '${program}' cannot be read: ${problem}`,
    () => {
      const entries = IMPORT_FORMATS[format]?.read(text, none) ?? [];
      return {
        keys: entries.map((found) => ({ place: `${program}:${found.line}`, found })),
        unread: [],
        configuration: ACCESS_READERS[format]?.(text, none, program),
      };
    },
  );
}

/** Returns a reader of included files, and one that returns the same files again in order. */
function twice(include: ReadIncluded): readonly [first: ReadIncluded, second: ReadIncluded] {
  const found: (readonly IncludedFile[])[] = [];
  const first: ReadIncluded = (statement) => {
    const files = include(statement);
    found.push(files);
    return files;
  };
  return [first, () => found.shift() ?? []];
}

/** Throws `CommandError` with the message for a syntax error that `read` meets. */
export function explaining<T>(messageOf: (problem: string) => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    throw new CommandError(EXIT.refused, messageOf(error.message), undefined, error);
  }
}
