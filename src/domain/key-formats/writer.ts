import { ALGORITHMS } from '../tsigkey.ts';
import type { Key } from './key.ts';

/** A form in which a program takes a key. */
export interface KeyWriter {
  /** What takes it, for people. */
  readonly consumer: string;
  readonly mediaType: string;
  /** How names of files in this form end. */
  readonly extension: string;
  /** The algorithms that the consumer takes. */
  readonly algorithms: readonly string[];
  /** Why the consumer takes no others, worded to follow its name. */
  readonly algorithmNote?: string;
  /** The text for a key that every program could use, in canonical form. */
  write(key: Key): string;
}

/** The algorithms that the service knows. */
export const EVERY_ALGORITHM: readonly string[] = Object.keys(ALGORITHMS);

/** Every algorithm but hmac-md5, which newer libraries have dropped. */
export const WITHOUT_MD5: readonly string[] = EVERY_ALGORITHM.filter((algorithm) => algorithm !== 'hmac-md5');

/**
 * Text in double quotes. JSON's strings are also YAML's, Python's and, for what names and secrets may hold, those of name
 * servers' configurations.
 */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Lines of text, each with its end. */
export function lines(...texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

/** Variables as a file of environment variables has them. No value holds a character that a shell or such a file gives a meaning. */
export function environmentFile(comment: string, variables: Readonly<Record<string, string>>): string {
  return lines(`# ${comment}`, ...Object.entries(variables).map(([name, value]) => `${name}=${value}`));
}
