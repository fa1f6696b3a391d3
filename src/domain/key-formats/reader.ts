import { keyProblems, readAlgorithm, type Key } from './key.ts';

/** What was found at one place of a text: a key, or what is wrong with what should be one. Lines count from 1. */
export type Entry = { readonly line: number; readonly key: Key } | { readonly line: number; readonly problem: string };

/** A form from which keys can be read. */
export interface KeyReader {
  /** What writes it, for people. */
  readonly source: string;
  /** Tells whether a text looks like it. */
  recognises(text: string): boolean;
  /** Every key in the text, in order. Throws `KeyFileError` where the text cannot be followed any further. */
  read(text: string): Entry[];
}

/** A text that is not in the form that it should have. The message says at which line, and quotes nothing: it could be a secret. */
export class KeyFileError extends Error {
  readonly line: number;

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
    this.name = 'KeyFileError';
    this.line = line;
  }
}

/** The parts of a key as they were found; undefined where there were none. */
export interface Parts {
  name?: string;
  algorithm?: string;
  secret?: string;
}

/** What `parts`, found at `line`, stand for. Blanks within base64 mean nothing to the programs that these forms are from. */
export function entryOf(line: number, parts: Parts): Entry {
  const missing = (['name', 'algorithm', 'secret'] as const).filter((part) => parts[part] === undefined);
  const { name = '', algorithm = '', secret = '' } = parts;
  const known = readAlgorithm(algorithm);
  if (missing.length > 0) return { line, problem: `the key has no ${missing.join(' and no ')}` };
  const key = { name, algorithm: known ?? algorithm, secret: secret.replaceAll(/\s/g, '') };
  const problems = keyProblems(key);
  return problems.length > 0 ? { line, problem: problems.join('; ') } : { line, key };
}

/** The lines of a text, whatever system it is from. */
export function linesOf(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
}
