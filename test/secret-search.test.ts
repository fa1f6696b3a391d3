import fc from 'fast-check';
import { expect, test } from 'vitest';
import { randomCases } from './harness/sizes.ts';
import { secretSearch, SHORTEST_SECRET } from './harness/secret-search.ts';

/**
 * Random texts with only two different characters, so that a text often contains a part of a
 * secret.
 */
const text = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength });

test('the search finds exactly the secrets that a text includes', () => {
  const secrets = fc.uniqueArray(text(SHORTEST_SECRET, SHORTEST_SECRET + 3), { maxLength: 10 });
  const cases = fc.tuple(
    secrets,
    fc.array(text(0, 40), { maxLength: 5 }),
    fc.array(fc.nat(9), { maxLength: 3 }),
  );
  fc.assert(
    fc.property(cases, ([all, parts, chosen]) => {
      const shown = [...parts, ...chosen.map((index) => all[index] ?? '')].join('');
      expect(secretSearch(all)(shown).toSorted()).toEqual(
        all.filter((secret) => shown.includes(secret)).toSorted(),
      );
    }),
    { numRuns: randomCases(5000) },
  );
});

test('the search throws an error for a secret that is too short', () => {
  expect(() => secretSearch(['a'.repeat(SHORTEST_SECRET - 1)])).toThrow(RangeError);
});
