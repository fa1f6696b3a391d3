import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IndexReader } from '../../../src/domain/model/resource.ts';
import { comparisonForm } from '../../../src/domain/text/dns-name.ts';
import { TLD_RULES, type TldRule } from '../../../src/domain/model/settings.ts';
import { ERRORS, type ZoneNameRefusal } from '../../../src/domain/model/errors.ts';
import { findTldEntries, findZoneNameRefusal } from '../../../src/domain/resources/tld-rule.ts';

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

async function check(
  entries: readonly string[],
  zoneName: string,
  rule: TldRule,
): Promise<ZoneNameRefusal | undefined> {
  const name = comparisonForm(zoneName);
  return findZoneNameRefusal(name, await findTldEntries(readerOf(entries), [name], rule), rule);
}

async function verdict(
  entries: readonly string[],
  zoneName: string,
  rule: TldRule,
): Promise<Verdict> {
  return (await check(entries, zoneName, rule))?.rule ?? 'ok';
}

const repeated = (label: string, count: number) =>
  Array.from({ length: count }, () => label).join('.');
const label63 = 'a'.repeat(63);
/** 127 labels of one letter: 254 characters with the trailing dot, 255 octets in a message. */
const MOST_LABELS = `${repeated('a', 126)}.b.`;
/** Four labels with 255 octets in total. */
const LONGEST = `${label63}.${label63}.${label63}.${'b'.repeat(57)}.com.`;

const SINGLE = 'more_than_one_label';
const NO_ENTRY = 'tld_entry';
const IS_TLD = 'not_a_tld';

/**
 * Each row has entries, a zone name and the verdict of `last-label`. If the verdict of `any-suffix`
 * differs, it comes last.
 */
const VERDICTS: readonly (readonly [
  entries: string,
  zone: string,
  lastLabel: Verdict,
  anySuffix?: Verdict,
])[] = [
  // Without entries, only the number of labels matters.
  ['', 'example.net.', 'ok'],
  ['', 'a.b.c.d.e.', 'ok'],
  ['', 'com.', SINGLE],
  ['', MOST_LABELS, 'ok'],
  ['', LONGEST, 'ok'],

  // One entry with one label.
  ['com', 'example.com.', 'ok'],
  ['com', 'a.b.example.com.', 'ok'],
  ['com', 'example.net.', NO_ENTRY],
  ['com', 'com.', SINGLE],
  ['com', 'net.', SINGLE],
  ['com', 'x.com.uk.', NO_ENTRY],
  ['com', 'com.com.', 'ok'],
  ['com', 'examplecom.xcom.', NO_ENTRY],
  ['com', 'example.co.', NO_ENTRY],

  // Entries with more than one label.
  ['com co.uk', 'example.co.uk.', NO_ENTRY, 'ok'],
  ['com co.uk', 'co.uk.', NO_ENTRY, IS_TLD],
  ['uk co.uk', 'example.co.uk.', 'ok'],
  ['uk co.uk', 'co.uk.', IS_TLD],
  ['uk co.uk', 'org.uk.', 'ok'],
  ['uk co.uk', 'co.uk.uk.', 'ok'],
  ['uk co.uk', 'xco.uk.', 'ok'],
  ['co.uk', 'y.co.uk.', NO_ENTRY, 'ok'],
  ['co.uk', 'y.uk.', NO_ENTRY],
  ['co.uk', 'y.xco.uk.', NO_ENTRY],
  ['a.b.c', 'b.c.', NO_ENTRY],
  ['a.b.c', 'x.a.b.c.', NO_ENTRY, 'ok'],
  ['a.b.c', 'a.b.c.', NO_ENTRY, IS_TLD],
  ['c a.b.c', 'a.b.c.', IS_TLD],
  ['c a.b.c', 'b.c.', 'ok'],

  // Names and entries are compared ignoring case.
  ['com', 'EXAMPLE.COM.', 'ok'],
  ['COM', 'example.com.', 'ok'],
  ['CoM', 'Example.cOm.', 'ok'],
  ['uk CO.uk', 'co.UK.', IS_TLD],
  ['CO.UK', 'a.co.uk.', NO_ENTRY, 'ok'],

  // Internationalised names have A-labels.
  ['xn--3e0b707e', 'example.xn--3e0b707e.', 'ok'],
  ['xn--3e0b707e', 'example.XN--3E0B707E.', 'ok'],
  ['xn--3e0b707e', 'example.xn--p1ai.', NO_ENTRY],
  ['xn--p1ai', 'xn--e1afmkfd.xn--p1ai.', 'ok'],

  // Reverse zones follow the same rules.
  ['arpa', '2.168.192.in-addr.arpa.', 'ok'],
  ['arpa', '8.b.d.0.1.0.0.2.ip6.arpa.', 'ok'],
  ['in-addr.arpa', '2.168.192.in-addr.arpa.', NO_ENTRY, 'ok'],
  ['arpa in-addr.arpa', 'in-addr.arpa.', IS_TLD],
  ['com', '2.168.192.in-addr.arpa.', NO_ENTRY],

  // The longest names, and the names with the most labels.
  ['com', LONGEST, 'ok'],
  ['net', LONGEST, NO_ENTRY],
  [`com ${LONGEST.slice(0, -1)}`, LONGEST, IS_TLD],
  ['b', MOST_LABELS, 'ok'],
  ['a', MOST_LABELS, NO_ENTRY],
  ['a.b', MOST_LABELS, NO_ENTRY, 'ok'],
  [MOST_LABELS.slice(2, -1), MOST_LABELS, NO_ENTRY, 'ok'],
  [`b ${MOST_LABELS.slice(0, -1)}`, MOST_LABELS, IS_TLD],
];

describe('zone name check', () => {
  test('the longest test names have the maximum length of a name in a DNS message', () => {
    const octets = (name: string) =>
      name.split('.').reduce((sum, label) => sum + label.length + 1, 0);
    expect([MOST_LABELS.length, octets(MOST_LABELS), MOST_LABELS.split('.').length - 1]).toEqual([
      254, 255, 127,
    ]);
    expect([LONGEST.length, octets(LONGEST)]).toEqual([254, 255]);
  });

  describe.each(TLD_RULES)('rule %s', (rule) => {
    const rows = VERDICTS.map(([entries, zone, lastLabel, anySuffix = lastLabel]) => ({
      entries,
      zone,
      expected: rule === 'last-label' ? lastLabel : anySuffix,
    }));
    test.each(rows)(
      'entries [$entries], zone $zone: $expected',
      async ({ entries, zone, expected }) => {
        const list = entries.split(' ').filter(Boolean);
        expect(await verdict(list, zone, rule)).toBe(expected);
        // The case of the name, the trailing dot and the order of the entries do not matter.
        expect(await verdict([...list].reverse(), zone.toUpperCase(), rule)).toBe(expected);
        expect(await verdict(list, zone.slice(0, -1), rule)).toBe(expected);
      },
    );
  });

  test.each<[string, string, TldRule, RegExp]>([
    ['', 'com.', 'last-label', /^More than one label is required/],
    ['com', 'example.ORG.', 'last-label', /^Invalid TLD: no TLD entry for 'org'\. The last label/],
    [
      'com',
      'example.co.uk.',
      'any-suffix',
      /^Invalid TLD: no TLD entry for 'uk' or 'co.uk'. A zone name must end in a TLD entry.$/,
    ],
    [
      'com',
      `${'x.'.repeat(20)}uk.`,
      'any-suffix',
      /^Invalid TLD: no TLD entry for 'uk', 'x.uk', .* or 10 longer suffixes\. A zone name/,
    ],
    [
      'uk CO.uk',
      'Co.uk.',
      'last-label',
      /^Zone name cannot be the same as a TLD: 'co\.uk' is a TLD entry/,
    ],
  ])('with the entries [%s], explains why %s is refused', async (entries, zone, rule, sentence) => {
    const refusal = await check(entries.split(' ').filter(Boolean), zone, rule);
    expect(refusal && ERRORS.invalid_zone_name.message(refusal)).toMatch(sentence);
  });
});

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
