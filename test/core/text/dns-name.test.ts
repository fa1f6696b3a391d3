import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  comparisonForm,
  isLabel,
  hasFaultyEscape,
  nameForm,
  toAsciiName,
} from '../../../src/core/text/dns-name.ts';
import { randomCases } from '../../harness/sizes.ts';
test('comparisonForm maps two names to the same form only if they differ at most in case or a trailing dot', () => {
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

test.each([
  ['\\107', 'k'],
  ['\\075.', 'k'],
  ['K.Example.', 'k.example'],
  ['\\k', 'k'],
  ['a\\.b.', 'a\\.b'],
  ['a\\046b', 'a\\.b'],
  ['a\\.', 'a\\.'],
  ['a\\\\.', 'a\\\\'],
  ['a\\092b', 'a\\\\b'],
  ['\\000\\32', '\\000\\32'],
  ['\\000\\032', '\\000\\032'],
  ['k\\256', 'k\\256'],
  ['k\\', 'k\\'],
])('nameForm reads the escapes of %s', (text, form) => {
  expect(nameForm(text)).toBe(form);
});

test('hasFaultyEscape finds what is neither three digits up to 255 nor one character', () => {
  for (const text of ['\\256', '\\999', 'a\\25', '\\2x', 'a.\\'])
    expect(hasFaultyEscape(text), text).toBe(true);
  for (const text of ['a', '\\255', '\\000', '\\.', '\\\\', 'a\\b.c'])
    expect(hasFaultyEscape(text), text).toBe(false);
});

test('nameForm maps every spelling of a name to one form, which stays', () => {
  const octets = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(octets, (codes) => {
      const all = codes.map((code) => `\\${String(code).padStart(3, '0')}`).join('');
      const form = nameForm(all);
      expect(nameForm(form)).toBe(form);
      expect(nameForm(`${form}.`)).toBe(form);
    }),
  );
});

describe('toAsciiName', () => {
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
