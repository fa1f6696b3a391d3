import { KeyFileError, type Origin } from '../formats/reader.ts';

/** Only words of this form are certainly no part of a secret. */
const PLAIN = /^[a-z-]{1,24}:?$/;

export function unknownWord(origin: Origin, kind: string, word: string): KeyFileError {
  const quoted = PLAIN.test(word) ? ` '${word}'` : '';
  return new KeyFileError(origin, `unknown ${kind}${quoted}`);
}
