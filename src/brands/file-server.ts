import type { PrintedConfiguration } from '../access/access.ts';
import type { Brand } from './brand.ts';
import type { Right } from '../access/rights.ts';
import type { AccessLists } from './desired-state.ts';
import { isSameMaterial, type Key } from '../formats/key.ts';
import { KeyFileError, type Entry, type ReadIncluded } from '../formats/reader.ts';
import { eachInSlices, type Slicer } from '../core/scheduling/slicer.ts';
import { digestOf } from './digest.ts';
import type { KeyReferences, Requirement } from './driver.ts';

/** A name server that reads its keys from a file that its configuration includes. */
export interface FileServer {
  readonly brand: Brand;
  readonly format: string;
  checker(file: string): readonly [program: string, ...parameters: string[]];
  /**
   * The rights for which each zone has an access list in the file, even without keys. The default is
   * all rights of the brand.
   */
  readonly zoneRights?: readonly Right[];
  /** The text with which each key begins in the content that `render` returns. */
  readonly keyStart: string;
  /**
   * Reads the keys of the file, or of a part that begins with `keyStart`, or with `include` of a
   * whole configuration. May throw `KeyFileError`, and what `include` throws.
   */
  readKeys(content: string, include?: ReadIncluded): readonly Entry[];
  /** Returns the content of the file after the stamp, in many parts. */
  render(keys: readonly Key[], lists: AccessLists): Iterable<string>;
  lists(content: string): AccessLists;
  readonly stamp?: StampForm;
  /**
   * Makes the server read its configuration again. Throws `DriverError`, and `DuplicateKeyError` if
   * the server keeps its former configuration.
   */
  load(signal: AbortSignal): Promise<void>;
  /** Returns what the running server has loaded. Throws `DriverError`. */
  inspect(signal: AbortSignal): Promise<Loaded>;
  /**
   * Returns the names of keys that the configuration defines twice, in comparison form. Servers
   * need this function if `inspect` returns no names.
   */
  duplicates?(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Returns whether the server or its driver makes a key with this name, in comparison form. */
  isReserved?(name: string): boolean;
  /**
   * Returns the names of all keys of the configuration, in comparison form, whether the server has
   * loaded them or not. Needed with `duplicates`.
   */
  configured?(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** The option with the path of the main configuration file, if the server does not state it. */
  readonly configurationOption?: string;
  /** Returns the main configuration file, or undefined if the server does not show it. */
  configurationFile(signal: AbortSignal): Promise<string | undefined>;
  /** Reads the configuration of the running server, as `Driver.printed` does. */
  printed(
    signal: AbortSignal,
    zones?: () => Promise<readonly string[]>,
  ): Promise<PrintedConfiguration>;
  /**
   * Returns the keys that lines of the configuration name, with the file and the line, if the server
   * would not load it or not work as before without them. `path` is the path of the text. May throw.
   */
  references(text: string, include: ReadIncluded, path: string): KeyReferences;
  /** Checks further requirements. Throws only `signal.reason`. */
  check?(signal: AbortSignal): Promise<readonly Requirement[]>;
}

/** A text with a stamp of 16 hexadecimal digits. */
export interface StampForm {
  /** Matches the text, and captures the stamp. */
  readonly pattern: RegExp;
  write(stamp: string): string;
}

export interface Loaded {
  /** In comparison form. Returns undefined if the server does not list all keys. */
  names(): Pick<ReadonlySet<string>, 'has' | 'size'> | undefined;
  /**
   * Returns whether the server has loaded this content. `certain` is false if the server shows only
   * that it has the keys.
   */
  has(content: string, keys: ReadonlyMap<string, Key>): boolean;
  readonly certain: boolean;
  /** With the same digest, `has` returns the same. Absent if `has` takes little time. */
  readonly digest?: string;
}

/**
 * Returns what a server has loaded that shows its keys in `answer`. Calls `read` only if the keys
 * matter, because reading 2,000 of them takes 5 ms.
 */
export function loadedKeys(answer: string | Buffer, read: () => ReadonlyMap<string, Key>): Loaded {
  let found: ReadonlyMap<string, Key> | undefined;
  const loaded = () => (found ??= read());
  return {
    names: loaded,
    certain: false,
    has: (_content, keys) => hasKeys(loaded(), keys),
    digest: digestOf(answer),
  };
}

/** The minimum length of a part that is read in one turn of the event loop, in characters. */
const PART_LENGTH = 64 * 1024;

/**
 * Reads the keys of a file, part by part. If the text of a part is not valid, reads the whole file
 * instead. An operator may have edited the file. Throws `KeyFileError`.
 */
export async function readKeysOf(
  { keyStart, readKeys }: Pick<FileServer, 'keyStart' | 'readKeys'>,
  content: string,
  slicer: Slicer,
): Promise<readonly Key[]> {
  const keys: Key[] = [];
  const read = (part: string) => {
    for (const entry of readKeys(part)) if ('key' in entry) keys.push(entry.key);
  };
  try {
    await eachInSlices(slicer, partsOf(content, `\n${keyStart}`), read);
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    keys.length = 0;
    read(content);
  }
  return keys;
}

function* partsOf(content: string, start: string): Iterable<string> {
  for (let begin = 0; begin < content.length;) {
    const next = content.indexOf(start, begin + PART_LENGTH);
    const end = next < 0 ? content.length : next + 1;
    yield content.slice(begin, end);
    begin = end;
  }
}

function hasKeys(loaded: ReadonlyMap<string, Key>, keys: ReadonlyMap<string, Key>): boolean {
  return [...keys].every(([name, key]) => isSameMaterial(key, loaded.get(name)));
}
