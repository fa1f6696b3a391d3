import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IndexReader } from '../../src/core/resource.ts';
import { comparisonForm } from '../../src/core/text/dns-name.ts';
import { TLD_RULES, type TldRule } from '../../src/core/settings.ts';
import { type ZoneNameRefusal } from '../../src/core/errors.ts';
import { findTldEntries, findZoneNameRefusal } from '../../src/resources/zone-name-rule.ts';

type Verdict = ZoneNameRefusal['rule'] | 'ok';

/**
 * Returns a reader of the TLD entries in a list. The reader supports only the queries of
 * `findTldEntries`.
 */
function readerOf(entries: readonly string[]): IndexReader {
  const refuse = () => Promise.reject(new Error('Only existence and lookups by name are expected'));
  return {
    exists: async ({ collection }, conditions) =>
      collection === 'tlds' && conditions.length === 0 ? entries.length > 0 : refuse(),
    find: refuse,
    present: async (_type, lookup, values) =>
      lookup === 'name'
        ? new Set(entries.map((entry) => entry.toLowerCase()).filter((key) => values.includes(key)))
        : refuse(),
  };
}

async function verdict(
  entries: readonly string[],
  zoneName: string,
  rule: TldRule,
): Promise<Verdict> {
  const name = comparisonForm(zoneName);
  const found = await findTldEntries(readerOf(entries), [name], rule);
  return findZoneNameRefusal(name, found, rule)?.rule ?? 'ok';
}

const SINGLE = 'more_than_one_label';
const NO_ENTRY = 'tld_entry';
const IS_TLD = 'not_a_tld';

/** Returns the verdict by plain text comparison, without labels, suffixes or comparison forms. */
function naively(entries: readonly string[], zoneName: string, rule: TldRule): Verdict {
  const name = `.${zoneName.toUpperCase().replace(/\.$/, '')}`;
  const tlds = entries.map((entry) => `.${entry.toUpperCase()}`);
  if (name.lastIndexOf('.') === 0) return SINGLE;
  if (tlds.length === 0) return 'ok';
  const covering = tlds.filter(
    (tld) => name.endsWith(tld) && (rule === 'any-suffix' || tld.lastIndexOf('.') === 0),
  );
  if (covering.length === 0) return NO_ENTRY;
  return tlds.some((tld) => tld.length === name.length && name.startsWith(tld)) ? IS_TLD : 'ok';
}

describe('comparison with a naive implementation', () => {
  // With only three different labels, names and entries often share suffixes, even parts of labels.
  const label = fc.constantFrom('a', 'B', 'ab');
  const relativeName = (maxLength: number) =>
    fc.array(label, { minLength: 1, maxLength }).map((labels) => labels.join('.'));

  test.each(TLD_RULES)(
    'gives every name the same verdict with every set of entries, under %s',
    async (rule) => {
      const seen = new Map<Verdict, number>();
      await fc.assert(
        fc.asyncProperty(
          fc.array(relativeName(3), { maxLength: 8 }),
          relativeName(5),
          fc.boolean(),
          async (entries, name, dot) => {
            const zone = dot ? `${name}.` : name;
            const expected = naively(entries, zone, rule);
            seen.set(expected, (seen.get(expected) ?? 0) + 1);
            expect(await verdict(entries, zone, rule)).toBe(expected);
          },
        ),
        { numRuns: 5000 },
      );
      // Every verdict must have occurred.
      for (const outcome of ['ok', SINGLE, NO_ENTRY, IS_TLD] as const)
        expect(seen.get(outcome), outcome).toBeGreaterThan(20);
    },
  );

  test.each(TLD_RULES)(
    'gives many names in one check the same verdicts as single names, under %s',
    async (rule) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(relativeName(3), { maxLength: 8 }),
          fc.array(relativeName(4), { minLength: 1 }),
          async (list, names) => {
            const together = await findTldEntries(readerOf(list), names.map(comparisonForm), rule);
            for (const name of names)
              expect(findZoneNameRefusal(comparisonForm(name), together, rule)?.rule ?? 'ok').toBe(
                naively(list, name, rule),
              );
          },
        ),
        { numRuns: 500 },
      );
    },
  );
});
