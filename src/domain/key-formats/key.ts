import { comparisonForm } from '../dns-name.ts';
import { ALGORITHMS, wireProblems } from '../tsigkey.ts';

/** What programs need to know of a TSIG key, as text: the secret is in base64. */
export interface Key {
  readonly name: string;
  readonly algorithm: string;
  readonly secret: string;
}

/** Why no program could use the key: an empty list for one that works on the wire. No value is quoted: any may hold a secret. */
export function keyProblems({ name, algorithm, secret }: Key): string[] {
  const problems = wireProblems(secret === '' ? { name } : { name, secret });
  return [
    ...problems.map(({ path, message }) => `the ${path.join('.')} ${message}`),
    ...(secret === '' ? ['the secret is empty'] : []),
    ...(Object.hasOwn(ALGORITHMS, algorithm) ? [] : [`the algorithm must be one of ${Object.keys(ALGORITHMS).join(', ')}`]),
  ];
}

/**
 * The key as it is written out: its name in lower case, which no program reads differently and some need (a signature covers
 * the name in lower case, RFC 8945 section 4.3.3), and without a final dot.
 */
export function canonicalKey({ name, algorithm, secret }: Key): Key {
  return { name: comparisonForm(name), algorithm, secret };
}

/** Tells whether two keys are the same to every program. */
export function isSameKey(one: Key, other: Key): boolean {
  return comparisonForm(one.name) === comparisonForm(other.name) && one.algorithm === other.algorithm && one.secret === other.secret;
}

/** The DNS algorithm names that are not the API's, and what they stand for (RFC 8945 section 6; NSD leaves `hmac-` out). */
const ALIASES: Readonly<Record<string, string>> = {
  'hmac-md5.sig-alg.reg.int': 'hmac-md5',
  ...Object.fromEntries(Object.keys(ALGORITHMS).map((algorithm) => [algorithm.slice('hmac-'.length), algorithm])),
};

/** An algorithm as programs spell it, in the API's spelling; undefined for one that the service does not know. */
export function readAlgorithm(text: string): string | undefined {
  const name = comparisonForm(text);
  if (Object.hasOwn(ALGORITHMS, name)) return name;
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}
