import { keyProblems, readAlgorithm, type Key } from './key.ts';

/** One entry of a key file: a key, or the problem with an invalid one. Lines count from 1. */
export type Entry =
  | { readonly line: number; readonly key: Key }
  | { readonly line: number; readonly problem: string };

/** An import format. */
export interface KeyReader {
  /** The programs that write this format, for help and documentation. */
  readonly source: string;
  /** Returns whether a text appears to be in this format. */
  recognises(text: string): boolean;
  /**
   * Returns every entry in the text, in order. Throws `KeyFileError` if the rest of the text cannot
   * be parsed.
   */
  read(text: string): Entry[];
}

/**
 * A syntax error in a key file. The message states the line but quotes no text, because the text
 * may be a secret.
 */
export class KeyFileError extends Error {
  readonly line: number;

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
    this.name = 'KeyFileError';
    this.line = line;
  }
}

/** The parts of a key as read; a missing part is undefined. */
export interface Parts {
  name?: string;
  algorithm?: string;
  secret?: string;
}

/**
 * Returns the entry for `parts`, which begin at `line`. Ignores blanks in base64, as the programs
 * that write these formats do.
 */
export function entryOf(line: number, parts: Parts): Entry {
  const missing = (['name', 'algorithm', 'secret'] as const).filter(
    (part) => parts[part] === undefined,
  );
  const { name = '', algorithm = '', secret = '' } = parts;
  const known = readAlgorithm(algorithm);
  if (missing.length > 0) return { line, problem: `the key has no ${missing.join(' and no ')}` };
  const key = { name, algorithm: known ?? algorithm, secret: secret.replaceAll(/\s/g, '') };
  const problems = keyProblems(key);
  return problems.length > 0 ? { line, problem: problems.join('; ') } : { line, key };
}

/** Returns the lines of a text, with any line ending and with or without a byte order mark. */
export function linesOf(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
}
