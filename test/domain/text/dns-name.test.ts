import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { comparisonForm, isLabel, toAsciiName } from '../../../src/domain/text/dns-name.ts';
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
