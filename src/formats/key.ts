import { ALGORITHM_NAMES, isAlgorithm } from '../dns/algorithms.ts';
import type { Problem } from '../core/errors.ts';
import type { Key } from '../dns/tsig-key.ts';
import { comparisonForm, fitsInMessage, withoutFinalDot } from '../core/text/dns-name.ts';

export type { Key } from '../dns/tsig-key.ts';

const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})+$|^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)$/;

/** Why no DNS message can contain the given members of a key. Empty for a usable key. */
export function wireProblems(given: {
  readonly name?: string | undefined;
  readonly secret?: string | undefined;
}): Problem[] {
  const problems: Problem[] = [];
  if (given.name !== undefined && !fitsInMessage(withoutFinalDot(given.name))) {
    problems.push({
      path: ['name'],
      message: 'must be a domain name to be used in DNS messages',
      validator: 'format',
    });
  }
  if (given.secret !== undefined && !BASE64.test(given.secret)) {
    problems.push({
      path: ['secret'],
      message: 'must be base64 (RFC 4648 section 4) to be used in DNS messages',
      validator: 'format',
    });
  }
  return problems;
}

/** Why no program can use the key. Messages quote no value: any value may be a secret. */
export function keyProblems({ name, algorithm, secret }: Key): string[] {
  const problems = wireProblems(secret === '' ? { name } : { name, secret });
  return [
    ...problems.map(({ path, message }) => `the ${path.join('.')} ${message}`),
    ...(secret === '' ? ['the secret is empty'] : []),
    ...(isAlgorithm(algorithm)
      ? []
      : [`the algorithm must be one of ${ALGORITHM_NAMES.join(', ')}`]),
  ];
}

/**
 * Returns the key for export, with its name in lower case and without a trailing dot. Some programs
 * require this spelling, and all programs treat both spellings as the same name. A signature covers
 * the name in lower case (RFC 8945 section 4.3.3).
 */
export function canonicalKey({ name, algorithm, secret }: Key): Key {
  return { name: comparisonForm(name), algorithm, secret };
}

export type KeyMaterial = Pick<Key, 'algorithm' | 'secret'>;

export function isSameMaterial(one: KeyMaterial, other: KeyMaterial | undefined): boolean {
  return other?.algorithm === one.algorithm && other.secret === one.secret;
}

/** Returns whether every program treats the two keys as the same key. */
export function isSameKey(one: Key, other: Key): boolean {
  return comparisonForm(one.name) === comparisonForm(other.name) && isSameMaterial(one, other);
}

/** The API's names of algorithms, by other names (RFC 8945 section 6). NSD omits `hmac-`. */
const ALIASES: Readonly<Record<string, string>> = {
  'hmac-md5.sig-alg.reg.int': 'hmac-md5',
  ...Object.fromEntries(
    ALGORITHM_NAMES.map((algorithm) => [algorithm.slice('hmac-'.length), algorithm]),
  ),
};

/** Returns the API's name of the algorithm that another program names `text`. */
export function readAlgorithm(text: string): string | undefined {
  const name = comparisonForm(text);
  if (isAlgorithm(name)) return name;
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}
