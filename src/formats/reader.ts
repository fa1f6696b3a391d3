import { nameForm } from '../core/text/dns-name.ts';
import { keyProblems, readAlgorithm, type Key } from './key.ts';

export interface IncludedFile {
  readonly path: string;
  readonly text: string;
}

/** Line numbers start at 1. `file` is undefined for the file that the caller passed. */
export interface Origin {
  readonly line: number;
  readonly file?: IncludedFile | undefined;
}

/** What a key applies to in the service that listed it: every zone of a pool, or one zone. */
export interface KeyScope {
  readonly scope: 'POOL' | 'ZONE';
  readonly resourceId: string;
}

/**
 * A key, with its scope if the format has scopes, the problem with an invalid entry, or the reason
 * why an import leaves out a key that signs no DNS requests between servers.
 */
export type Entry = Origin &
  (
    | { readonly key: Key; readonly appliesTo?: KeyScope }
    | { readonly problem: string }
    | { readonly leftOut: string }
  );

export interface IncludeStatement extends Origin {
  /** A path, or a pattern of paths. */
  readonly pattern: string;
  /** The values of BIND's `directory` options before the statement, in order. */
  readonly directories: readonly string[];
}

/** Returns the files that a statement includes, in the order of their names. */
export type ReadIncluded = (statement: IncludeStatement) => readonly IncludedFile[];

/** The rules by which a program finds the files of an include statement. */
export interface IncludeRules {
  /** The folder of the including file, or the working directory of the program. */
  readonly relativeTo: 'file' | 'working directory';
  readonly mayMatchNothing: boolean;
  /** Whether `{a,b}` in a pattern matches both words. */
  readonly braces: boolean;
  readonly skipsFolders: boolean;
}

export interface KeyReader {
  /** The programs that write this format, for help and documentation. */
  readonly source: string;
  /** Whether the entry of each key has its scope. */
  readonly statesScopes?: true;
  /** Undefined for a format without include statements. */
  readonly includes?: IncludeRules;
  /**
   * Returns every entry in the text and in the files that `include` returns, in order. Without
   * `include`, ignores include statements. `path` is the path of the text, if it is a file. Throws
   * `KeyFileError` if the rest of the text cannot be parsed.
   */
  read(text: string, include?: ReadIncluded, path?: string): Entry[];
}

/** Returns a place as text: `line 3`, or `/etc/bind/keys.conf:3` in an included file. */
export function placeOf({ line, file }: Origin): string {
  return file === undefined ? `line ${line}` : `${file.path}:${line}`;
}

/**
 * A file that cannot be parsed, or that only a person can edit. The message states the place but
 * quotes no text, because the text may be a secret.
 */
export class KeyFileError extends Error {
  constructor(place: Origin | string, problem: string) {
    super(`${typeof place === 'string' ? place : placeOf(place)}: ${problem}`);
    this.name = 'KeyFileError';
  }
}

export interface Parts {
  name?: string;
  algorithm?: string;
  secret?: string;
}

/** What programs print instead of a secret. */
const HIDDEN = /^(?:\?+|\*+|\.\.\.)$/;

/** An unknown algorithm that is certainly no secret, because base64 has no hyphen. */
const ALGORITHM = /^hmac-[a-z0-9.-]{1,24}$/i;

/**
 * Returns the entry for the parts that begin at `origin`. Ignores blanks in base64, like the
 * programs that write these formats. `isNamed` says that the format names its parts, so that no
 * secret stands in place of the name or the algorithm, and a problem can quote them.
 */
export function entryOf({ line, file }: Origin, parts: Parts, isNamed = false): Entry {
  const origin = file === undefined ? { line } : { line, file };
  const missing = (['name', 'algorithm', 'secret'] as const).filter(
    (part) => parts[part] === undefined,
  );
  const { name = '', algorithm = '', secret = '' } = parts;
  const known = readAlgorithm(algorithm);
  const prefix = isNamed && name !== '' ? `${name}: ` : '';
  if (missing.length > 0)
    return { ...origin, problem: `${prefix}the key has no ${missing.join(' and no ')}` };
  if (HIDDEN.test(secret))
    return { ...origin, problem: `${prefix}the secret is hidden, so the text does not contain it` };
  const key = {
    name: name.includes('\\') ? nameForm(name) : name,
    algorithm: known ?? algorithm,
    secret: secret.replaceAll(/\s/g, ''),
  };
  const problems = keyProblems(key);
  if (problems.length === 0) return { ...origin, key };
  const isWrong = isNamed && known === undefined && ALGORITHM.test(algorithm);
  const value = isWrong ? `, not '${algorithm}'` : '';
  return { ...origin, problem: `${prefix}${problems.join('; ')}${value}` };
}
