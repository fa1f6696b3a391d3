import fc from 'fast-check';
import type { Key } from '../../src/formats/key.ts';

const FIRST = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'.split(/(?=.)/);

/**
 * Labels that have a special meaning in a configuration syntax, or that a parser could misread.
 */
const NASTY_LABELS = [
  'key',
  'id',
  'name',
  'secret',
  'algorithm',
  'server',
  'zone',
  'include',
  'none',
  'any',
  'hmac-sha256',
  'null',
  'true',
  'no',
  '0',
  '007',
  '1e3',
  '0x1f',
  '_',
  '__',
  'xn--p1ai',
  'a--b',
  'A',
  'l'.repeat(63),
];

const label = fc.oneof(
  fc.constantFrom(...NASTY_LABELS),
  fc
    .tuple(
      fc.constantFrom(...FIRST),
      fc.string({ unit: fc.constantFrom(...FIRST, '-'), maxLength: 20 }),
      fc.constantFrom(...FIRST),
    )
    .map((parts) => parts.join('')),
);

/** Key names up to the maximum length of a domain name, with and without a trailing dot. */
export const keyNames = fc.oneof(
  fc
    .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), fc.constantFrom('', '.'))
    .filter(([labels]) => labels.join('.').length <= 253)
    .map(([labels, dot]) => labels.join('.') + dot),
  fc.constant([63, 63, 63, 61].map((length) => 'l'.repeat(length)).join('.')),
);

/** Secrets of 1 to 190 octets in base64. No hash has a block size above 128 octets. */
const keySecrets = fc
  .oneof(
    fc.uint8Array({ minLength: 1, maxLength: 190 }),
    fc.constantFrom(1, 2, 3, 64, 190).map((size) => new Uint8Array(size).fill(0xff)),
  )
  .map((bytes) => Buffer.from(bytes).toString('base64'));

/** Returns a generator of valid keys with one of these algorithms. */
export const keysWith = (algorithms: readonly string[]): fc.Arbitrary<Key> =>
  fc.record({ name: keyNames, algorithm: fc.constantFrom(...algorithms), secret: keySecrets });

/** Texts that attempt an injection. Each text is harmful in at least one format. */
export const INJECTIONS = [
  'a"; }; include "/etc/passwd',
  'a\nalgorithm hmac-md5',
  "a'",
  'a b',
  'a\tb',
  'a#b',
  'a;b',
  'a{b}',
  'a:b',
  'a\\',
  '$(id)',
  '${id}',
  '`id`',
  '*',
  '@',
  'a/b',
  'ключ',
  '-a',
  'a-',
  '..',
  'a..b',
  'l'.repeat(65),
  `${'l'.repeat(60)}.`.repeat(5),
  '\u2028',
  '%s',
  'a,b',
  '[a]',
  '&a',
  '!a',
];
