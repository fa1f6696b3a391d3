import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/domain/model/ports.ts';
import type { Condition, ListQuery } from '../../src/domain/model/query.ts';
import { uniqueOf, type Resource } from '../../src/domain/model/resource.ts';
import { COMMON_SORT_KEYS } from '../../src/domain/model/settings.ts';
import { tsigkey } from '../../src/domain/resources/tsigkey.ts';
import { everything, insert, sampleOf } from './samples.ts';
import { randomCases } from '../harness/sizes.ts';

/** Names that databases often sort and match differently. */
const AWKWARD = [
  'a',
  'A',
  'b',
  'B',
  'aa',
  'a-b',
  'a_b',
  'a%b',
  'a?b',
  'a[b',
  'a]b',
  'a[!b]',
  'a\\b',
  'ä',
  'Z',
  '\uffee',
  '😀',
  'a*b',
  '**',
  'a ',
  ' a',
];

const byCodePoint = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

function sortedIds(rows: readonly Resource[], sortField: string, descending: boolean): string[] {
  const valueOf = (row: Resource) => {
    const value = (row[sortField] ?? '') as string;
    return sortField === 'name' ? uniqueOf(tsigkey).comparisonForm(value) : value;
  };
  const ascending = rows.toSorted(
    (one, other) => byCodePoint(valueOf(one), valueOf(other)) || byCodePoint(one.id, other.id),
  );
  return (descending ? ascending.toReversed() : ascending).map(({ id }) => id);
}

async function idsPageByPage(
  store: Store,
  query: ListQuery,
  between: () => Promise<void> = async () => undefined,
): Promise<string[]> {
  const ids: string[] = [];
  let after: ListQuery['after'];
  for (;;) {
    const page: readonly Resource[] = await store.list(
      tsigkey,
      after === undefined ? query : { ...query, after },
    );
    ids.push(...page.map(({ id }) => id));
    const last = page.at(-1);
    if (last === undefined || page.length < query.limit) return ids;
    after = { sortValue: last[query.sortField], id: last.id };
    await between();
  }
}

/**
 * Defines the tests of sort orders, pages and filters that must pass with every database. `current`
 * returns the store of the current test.
 */
export function listContract(engine: string, current: () => Store): void {
  // Few distinct timestamps, so that many rows have the same timestamp. Some rows were never
  // updated.
  const rows = AWKWARD.map((name, index) =>
    sampleOf(tsigkey, {
      name,
      created_at: `2026-01-0${(index % 3) + 1}T00:00:00.000000`,
      updated_at: index % 2 === 0 ? null : `2026-02-0${(index % 4) + 1}T00:00:00.000000`,
    }),
  );
  const orders = COMMON_SORT_KEYS.flatMap((sortField) =>
    [false, true].map((descending) => ({
      sortField,
      descending,
      direction: descending ? 'desc' : 'asc',
    })),
  );

  describe(`lists on ${engine}`, () => {
    beforeEach(() => insert(current(), tsigkey, ...distinct(rows)));

    test.each(orders)(
      '$sortField $direction: sorts by code point with null first, then by id, in the same order for pages of any size',
      async ({ sortField, descending }) => {
        for (const limit of [1, 2, 3, 7, 1000]) {
          const ids = await idsPageByPage(current(), everything({ sortField, descending, limit }));
          expect(ids).toEqual(sortedIds(distinct(rows), sortField, descending));
        }
      },
    );

    test.each(orders)(
      '$sortField $direction: unchanged rows appear exactly once while other rows are inserted and removed',
      async ({ sortField, descending }) => {
        const store = current();
        const stable = distinct(rows);
        let step = 0;
        const ids = await idsPageByPage(
          store,
          everything({ sortField, descending, limit: 3 }),
          async () => {
            step += 1;
            const passing = sampleOf(tsigkey, {
              name: `passing ${step}`,
              created_at: `2026-01-0${(step % 3) + 1}T00:00:00.000000`,
            });
            await insert(store, tsigkey, passing);
            await insert(store, tsigkey, sampleOf(tsigkey, { name: `staying ${step}` }));
            await store.write((writer) => writer.remove(tsigkey, passing.id));
          },
        );
        const wanted = new Set(stable.map(({ id }) => id));
        expect(ids.filter((id) => wanted.has(id))).toEqual(
          sortedIds(stable, sortField, descending),
        );
        expect(new Set(ids).size).toBe(ids.length);
      },
    );

    test('a condition compares all characters exactly, except * in a pattern, which matches any sequence of characters', async () => {
      const store = current();
      const piece = fc.constantFrom(...AWKWARD, '*', '*', 'x');
      await fc.assert(
        fc.asyncProperty(
          fc.array(piece, { minLength: 1, maxLength: 4 }),
          fc.boolean(),
          async (pieces, wildcard) => {
            const value = pieces.join('');
            const condition: Condition = { field: 'name', test: wildcard ? 'matches' : '=', value };
            const found = await store.list(
              tsigkey,
              everything({ conditions: [condition], sortField: 'id' }),
            );
            const expected = distinct(rows).filter(({ name }) =>
              wildcard ? matches(value, name as string) : name === value,
            );
            expect(found.map(({ name }) => name).toSorted()).toEqual(
              expected.map(({ name }) => name).toSorted(),
            );
          },
        ),
        { numRuns: randomCases(300) },
      );
    });

    test('every row on every page matches all conditions', async () => {
      const conditions: Condition[] = [
        { field: 'name', test: 'matches', value: 'a*' },
        { field: 'scope', test: '=', value: 'POOL' },
      ];
      const ids = await idsPageByPage(
        current(),
        everything({ conditions, limit: 2, sortField: 'name' }),
      );
      expect(ids).toEqual(
        sortedIds(
          distinct(rows).filter(({ name }) => (name as string).startsWith('a')),
          'name',
          false,
        ),
      );
      const none: Condition[] = [...conditions, { field: 'scope', test: '=', value: 'ZONE' }];
      expect(await current().list(tsigkey, everything({ conditions: none }))).toEqual([]);
    });
  });
}

/** Returns the rows without duplicate names. `a` and `A` are the same name for a key. */
function distinct(rows: readonly Resource[]): Resource[] {
  return [
    ...new Map(
      rows.map((row) => [uniqueOf(tsigkey).comparisonForm(row.name as string), row]),
    ).values(),
  ];
}

function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return text === pattern;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let position = first.length;
  for (const middle of rest) {
    const found = text.indexOf(middle, position);
    if (found < 0) return false;
    position = found + middle.length;
  }
  return position <= text.length - last.length;
}
