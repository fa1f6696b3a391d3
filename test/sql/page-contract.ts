import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { type Condition, type PageQuery, keyed } from '../../src/core/query.ts';
import { uniqueOf, type Resource, type ResourceType } from '../../src/core/resource.ts';
import { tld } from '../../src/resources/tld.ts';
import { tsigkey } from '../../src/resources/tsigkey.ts';
import { zone } from '../../src/resources/zone.ts';
import { sampleOf, tldNamed, keyedRows } from './samples.ts';
import { SETTINGS } from '../harness/dependencies.ts';
import { randomCases } from '../harness/sizes.ts';

/** The number of rows. The first steps of a scan read fewer rows. */
const COUNT = 3000;

const TURN = { owner: 'test', signal: () => undefined };

/**
 * A query for a page with a limit of one byte. A computed filter omits hundreds of resources before
 * the first resource of the page.
 */
const FIRST_PASSES_LATE: PageQuery = {
  limit: 1,
  sortField: 'project_id',
  descending: true,
  conditions: [{ field: 'type', test: 'matches', value: '*RY' }],
  maxBytes: 1,
  count: false,
  computed: { conditions: [{ name: 'outside_tlds', wanted: false }], settings: SETTINGS },
};

const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
const timestamp = (number: number) =>
  `2026-01-01T00:${String(number % 60).padStart(2, '0')}:00.000000`;

/** Zones with few different values in each column, so that many zones have the same value. */
const ZONES = Array.from({ length: COUNT }, (_, index) =>
  sampleOf(zone, {
    name: `${pick(['a', 'aa', 'aba', 'b', 'ba'], index * 7)}${index}.${pick(['example', 'test', 'inside'], index)}.`,
    project_id: pick(['red', 'blue', 'green'], index * 5),
    email: pick(['a@example.org', 'b@example.org'], index * 3),
    description: pick([null, 'web', 'web site', 'größer 😀'], index),
    attributes: index % 9 === 0 ? { long: 'x"'.repeat(20) } : {},
    ttl: (index * 11) % 40,
    serial: 1 + ((index * 13) % 50),
    type: pick(['PRIMARY', 'SECONDARY'], index * 3),
    created_at: timestamp(index * 17),
    updated_at: index % 4 === 0 ? null : timestamp(index * 19),
  }),
);

/** Keys for three resources. The key names contain characters with special meanings in patterns. */
const KEYS = Array.from({ length: COUNT }, (_, index) =>
  sampleOf(tsigkey, {
    name: `${pick(['', 'a*', 'a[b', 'ä', '😀', '\uffee', 'a?'], index)}key-${index}`,
    algorithm: pick(['hmac-sha256', 'hmac-sha512'], index),
    resource_id: `00000000-0000-4000-8000-00000000000${index % 3}`,
    scope: pick(['POOL', 'ZONE'], index * 3),
    orphaned: index % 5 === 0,
    created_at: timestamp(index),
    updated_at: index % 4 === 0 ? null : timestamp(index * 19),
  }),
);

const valueIn = (type: ResourceType, row: Resource, column: string): string | number =>
  column === 'name'
    ? uniqueOf(type).comparisonForm(row.name as string)
    : ((row[column] ?? '') as string | number);

function compare(one: string | number, other: string | number): number {
  return typeof one === 'number' && typeof other === 'number'
    ? one - other
    : Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}

function meets(type: ResourceType, row: Resource, condition: Condition): boolean {
  if (condition.test === 'any')
    return condition.alternatives.some((all) => all.every((each) => meets(type, row, each)));
  if (condition.test === 'null') return row[condition.field] === null;
  if (condition.test === 'in') return condition.values.includes(String(row[condition.field]));
  const { test, value } = condition;
  const found =
    'lookup' in condition
      ? uniqueOf(type).comparisonForm(row[condition.lookup] as string)
      : row[condition.field];
  if (test === '=' || found === null) return found === value;
  const pattern = String(value)
    .split('*')
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${pattern.join('.*')}$`, 'su').test(found as string);
}

/** Returns the expected page for a query, computed from all rows. Ignores the limit in bytes. */
function expectedPage(
  type: ResourceType,
  rows: readonly Resource[],
  query: PageQuery,
): { rows: Resource[]; total: number } {
  const { sortField, descending, after, limit, conditions } = query;
  const isOutside = (row: Resource) => !String(row.name).endsWith('.inside.');
  const order = (one: Resource, other: Resource) =>
    (compare(valueIn(type, one, sortField), valueIn(type, other, sortField)) ||
      compare(one.id, other.id)) * (descending ? -1 : 1);
  const marker = after && ({ id: after.id, [sortField]: after.sortValue } as unknown as Resource);
  const matching = rows
    .filter((row) => conditions.every((condition) => meets(type, row, condition)))
    .filter((row) =>
      (query.computed?.conditions ?? []).every(
        ({ name, wanted }) => (name === 'orphaned' ? row.orphaned : isOutside(row)) === wanted,
      ),
    );
  const following = matching
    .toSorted(order)
    .filter((row) => marker === undefined || order(row, marker) > 0);
  return { rows: following.slice(0, limit), total: matching.length };
}

const anyCondition = (
  subject: { readonly field: string } | { readonly lookup: string },
  values: readonly (string | number)[],
  patterns: readonly string[],
): fc.Arbitrary<Condition[]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Condition[]>([]) },
    fc.constantFrom(...values).map((value): Condition[] => [{ ...subject, test: '=', value }]),
    ...(patterns.length === 0
      ? []
      : [
          fc
            .constantFrom(...patterns)
            .map((value): Condition[] => [{ ...subject, test: 'matches', value }]),
        ]),
  );

function anyQuery(
  rows: readonly Resource[],
  sortFields: readonly string[],
  conditions: fc.Arbitrary<Condition[]>[],
  question: string,
  counted: boolean,
): fc.Arbitrary<PageQuery> {
  return fc
    .record({
      limit: fc.constantFrom(1, 2, 99, 100, 101, 257, 1000),
      sortField: fc.constantFrom(...sortFields),
      descending: fc.boolean(),
      conditions: fc.tuple(...conditions).map((lists) => lists.flat()),
      marker: fc.option(fc.constantFrom(...rows)),
      count: counted ? fc.boolean() : fc.constant(false),
      maxBytes: fc.constantFrom(1, 5000, 100_000, Number.MAX_SAFE_INTEGER),
      wanted: fc.option(fc.boolean(), { freq: 4 }),
    })
    .map(({ marker, wanted, count, ...query }) => ({
      ...query,
      count: count && wanted === null,
      ...(marker === null ? {} : { after: { sortValue: marker[query.sortField], id: marker.id } }),
      ...(wanted === null
        ? {}
        : { computed: { conditions: [{ name: question, wanted }], settings: SETTINGS } }),
    }));
}

/**
 * Defines the tests of pages, with an index and with a scan, that must pass with every database.
 * `open` creates a store for all tests.
 */
export function pageContract(engine: string, open: () => Promise<Store>): void {
  describe(`pages on ${engine}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await open();
      await store.write(async (writer) => {
        await writer.putAll(zone, keyedRows(zone, ZONES));
        await writer.putAll(tsigkey, keyedRows(tsigkey, KEYS));
        await writer.insert(tld, keyed(tld, tldNamed('inside')));
      });
    });

    const agrees = async (type: ResourceType, rows: readonly Resource[], query: PageQuery) => {
      const expected = expectedPage(type, rows, query);
      const page = await store.page(type, query, TURN);
      expect(page.resources).toEqual(expected.rows.slice(0, page.resources.length));
      expect(page.total).toBe(query.count === true ? expected.total : undefined);
      const bytes = Buffer.byteLength(JSON.stringify(page.resources));
      const isShort = page.resources.length < expected.rows.length;
      if (isShort) expect(bytes).toBeGreaterThan(query.maxBytes ?? Infinity);
      if (expected.rows.length > 0) expect(page.resources.length).toBeGreaterThan(0);
      // If a page ends because of its length, `more` is checked only if more resources follow.
      if (bytes <= (query.maxBytes ?? Infinity))
        expect(page.more).toBe(expected.rows.length === query.limit);
      else if (isShort) expect(page.more).toBe(true);
    };

    test('of zones contain exactly the matching zones in order, with the total count, for every filter and order', async () => {
      const conditions = [
        anyCondition({ field: 'project_id' }, ['red', 'none'], []),
        anyCondition(
          { lookup: 'name' },
          [uniqueOf(zone).comparisonForm(ZONES[7]?.name as string)],
          ['a*', 'aa1*', 'ba2999*', 'c*', '*.test', '*b*', 'a*1*t', '*1*2*', '*'],
        ),
        anyCondition({ field: 'description' }, ['web'], ['web*', '*😀', '*ö*', '*']),
        anyCondition({ field: 'type' }, ['PRIMARY'], ['*RY']),
        anyCondition({ field: 'ttl' }, [11, -1], []),
      ];
      const columns = [
        'created_at',
        'id',
        'updated_at',
        'name',
        'project_id',
        'serial',
        'ttl',
        'status',
      ];
      const queries = anyQuery(ZONES, columns, conditions, 'outside_tlds', true);
      await fc.assert(
        fc.asyncProperty(queries, (query) => agrees(zone, ZONES, query)),
        { numRuns: randomCases(150), examples: [[FIRST_PASSES_LATE]] },
      );
    });

    test('of keys contain exactly the matching keys, in code-point order', async () => {
      const conditions = [
        anyCondition(
          { field: 'name' },
          ['key-7', 'a*key-1'],
          ['a*', 'a?*', '*[b*', '*9', '*😀*', 'ä*1*', '**'],
        ),
        anyCondition({ lookup: 'name' }, ['key-7'], ['a[bkey-1*', '😀key-2*', '\uffeekey-3*']),
        anyCondition({ field: 'resource_id' }, ['00000000-0000-4000-8000-000000000001', 'x'], []),
        anyCondition({ field: 'scope' }, ['POOL'], []),
      ];
      const queries = anyQuery(
        KEYS,
        ['created_at', 'id', 'updated_at', 'name'],
        conditions,
        'orphaned',
        false,
      );
      await fc.assert(
        fc.asyncProperty(queries, (query) => agrees(tsigkey, KEYS, query)),
        { numRuns: randomCases(100) },
      );
    });
  });
}
