import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  comparisonForm,
  fitsInMessage,
  isLabel,
  isRelativeName,
  suffixes,
  toAsciiName,
  withoutFinalDot,
} from '../../../src/domain/text/dns-name.ts';
import { randomCases } from '../../harness/sizes.ts';

const label = (length: number) => 'l'.repeat(length);
const name = (...lengths: number[]) => lengths.map(label).join('.');

describe('isLabel', () => {
  test.each(['a', 'A', '0', '_', 'a-b', 'a--b', '_a_', 'xn--p1ai', label(63)])(
    'returns true for %j',
    (text) => expect(isLabel(text)).toBe(true),
  );
  test.each(['', '-', '-a', 'a-', 'a b', 'a.b', '*', 'é', '\u017f', '\u212a', 'a\n', label(64)])(
    'returns false for %j',
    (text) => expect(isLabel(text)).toBe(false),
  );
});

describe('isRelativeName', () => {
  test.each(['com', 'co.uk', 'a.b.c.d', '1.2.3.4', name(63, 63, 63, 62)])(
    'returns true for %j',
    (text) => expect(isRelativeName(text)).toBe(true),
  );
  test.each(['', '.', 'com.', '.com', 'a..b', 'a.-b', name(63, 63, 63, 63)])(
    'returns false for %j',
    (text) => expect(isRelativeName(text)).toBe(false),
  );
});

describe('fitsInMessage', () => {
  test.each([
    ['transfer-key', true],
    [name(63, 63, 63, 61), true],
    [name(63, 63, 63, 62), false],
    ['transfer-key.', false],
    ['a b', false],
    ['', false],
  ])('%s: %s', (text, fits) => expect(fitsInMessage(text)).toBe(fits));
});

describe('comparisonForm', () => {
  test.each([
    ['COM', 'com'],
    ['Example.ORG.', 'example.org'],
    ['a..', 'a.'],
    ['.', ''],
    ['', ''],
    ['КЛЮЧ', 'ключ'],
  ])('maps %j to %j', (text, form) => expect(comparisonForm(text)).toBe(form));

  test('maps two names to the same form only if they differ at most in case or a trailing dot', () => {
    const names = fc.stringMatching(/^[a-zA-Z0-9_]{1,8}(\.[a-zA-Z0-9_]{1,8}){0,3}$/);
    fc.assert(
      fc.property(names, names, (one, other) => {
        expect(comparisonForm(`${one.toUpperCase()}.`)).toBe(comparisonForm(one.toLowerCase()));
        expect(comparisonForm(one) === comparisonForm(other)).toBe(
          one.toLowerCase() === other.toLowerCase(),
        );
      }),
    );
  });
});

test.each([
  ['a.', 'a'],
  ['a', 'a'],
  ['a..', 'a.'],
  ['.', ''],
])('withoutFinalDot maps %j to %j', (text, bare) => expect(withoutFinalDot(text)).toBe(bare));

test.each([
  ['a.b.c', ['a.b.c', 'b.c', 'c']],
  ['c', ['c']],
  ['', ['']],
  ['a..b', ['a..b', '.b', 'b']],
])('suffixes maps %j to %j', (text, names) => expect(suffixes(text)).toEqual(names));

describe('toAsciiName', () => {
  test.each([
    ['рф', 'xn--p1ai'],
    ['РФ', 'xn--p1ai'],
    ['пример.рф', 'xn--e1afmkfd.xn--p1ai'],
    ['www.中国', 'www.xn--fiqs8s'],
    ['bücher.1', 'xn--bcher-kva.1'],
    ['127.0.0.рф', '127.0.0.xn--p1ai'],
    ['com', 'com'],
  ])('maps %s to %s', (text, ascii) => expect(toAsciiName(text)).toBe(ascii));

  test.each([
    '',
    'a b',
    'рф.',
    'a..рф',
    'рф/x',
    'рф:80',
    'рф?x',
    'рф#x',
    'user@рф',
    '１２７',
    'ｃｏｍ',
    '\u200b',
    'é'.repeat(64),
    'a\u0000é',
  ])('returns undefined for %j', (text) => expect(toAsciiName(text)).toBeUndefined());

  test.each([
    ['a name of 255 characters', `${'a'.repeat(62)}.`.repeat(4) + 'рф1'],
    ['a label of 64 characters', `${'𐍈'.repeat(64)}.com`],
    ['a label of 37,000 characters', 'é'.repeat(37_000)],
  ])('does not convert %s', (_label, text) => expect(toAsciiName(text)).toBeUndefined());

  test('converts labels whose ASCII form has at most 63 characters, even with characters outside the basic plane', () => {
    expect(
      toAsciiName(`${'𐍈'.repeat(20)}.${'𐍈'.repeat(20)}`)
        ?.split('.')
        .map(isLabel),
    ).toEqual([true, true]);
    expect(toAsciiName('é'.repeat(57))).toHaveLength(63);
  });

  test('returns undefined or a valid name for arbitrary text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (text) => {
        const ascii = toAsciiName(text);
        if (ascii !== undefined) expect(ascii.split('.').every(isLabel)).toBe(true);
      }),
      { numRuns: randomCases(10_000) },
    );
  });
});
