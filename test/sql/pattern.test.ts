import fc from 'fast-check';
import { expect, test } from 'vitest';
import { patternMatcher } from '../../src/sql/sqlite/connection/patterns.ts';
import { randomCases } from '../harness/sizes.ts';

const escaped = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);

test('an asterisk matches any sequence of characters, and other characters match themselves', () => {
  const piece = fc.constantFrom('a', 'b', 'ab', '*', '*', '.', '?', '[', '😀');
  const text = fc
    .array(fc.constantFrom('a', 'b', '.', '?', '[', '😀'), { maxLength: 12 })
    .map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), text, (pieces, candidate) => {
      const pattern = pieces.join('');
      const expected = new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`, 'su').test(
        candidate,
      );
      expect(patternMatcher(pattern)(candidate)).toBe(expected);
    }),
    { numRuns: randomCases(10_000) },
  );
});

test('the middle segments of a pattern do not overlap its last segment', () => {
  expect(patternMatcher('a*ba*a')('aba')).toBe(false);
  expect(patternMatcher('a*ba*a')('abaa')).toBe(true);
});
