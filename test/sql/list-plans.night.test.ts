import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Condition, PageQuery } from '../../src/core/query.ts';
import { sortFields, uniqueOf, type ResourceType } from '../../src/core/resource.ts';
import { RESOURCE_TYPES, STORED_TYPES } from '../../src/resources/resources.ts';
import { INDEXES, isLookup } from '../../src/sql/indexes.ts';
import { migrate } from '../../src/sql/migrate.ts';
import type { Database, Sql, SqlValue } from '../../src/sql/sql.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { createStore } from '../../src/database/store.ts';
import { tableOf } from '../../src/sql/table.ts';
import { temporaryFolder } from '../harness/service.ts';

const folder = temporaryFolder();
const path = join(folder, 'plans.db');
const TURN = { owner: 'test', signal: () => undefined };

let database: Database;
let planner: DatabaseSyncInstance;
let statements: { text: string; parameters: readonly SqlValue[] }[] = [];
let scans: PageQuery[] = [];

beforeAll(async () => {
  database = await openSqlite(path, { committed: () => undefined });
  await migrate(database, 'now');
  planner = new DatabaseSync(path, { readOnly: true });
});
afterAll(async () => {
  planner.close();
  await database.close();
});

/** Records the statements that run on the event loop. */
function recording(sql: Sql): Sql {
  const note = (text: string, parameters: readonly SqlValue[]) =>
    statements.push({ text, parameters });
  return {
    ...sql,
    all: (text, parameters) => (note(text, parameters), sql.all(text, parameters)),
    one: (text, parameters) => (note(text, parameters), sql.one(text, parameters)),
  };
}

/** Reads a page, and records its statements and its scans. The scans return no resources. */
async function page(type: ResourceType, query: PageQuery): Promise<void> {
  [statements, scans] = [[], []];
  const store = createStore({
    ...database,
    reads: recording(database.reads),
    scan: async (_collection, scanned) => {
      scans.push(scanned);
      return { resources: [], more: false, total: 0 };
    },
  });
  await store.page(type, query, TURN);
}

function planOf({ text, parameters }: { text: string; parameters: readonly SqlValue[] }): string[] {
  return (
    planner.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...parameters) as { detail: string }[]
  ).map(({ detail }) => detail);
}

/**
 * Returns whether a query plan reads at most the rows of a page, the rows with one name, or the few
 * rows whose names have a prefix.
 */
function isBounded(type: ResourceType, query: PageQuery, plan: readonly string[]): boolean {
  const isNamed = query.conditions.some((condition) => isLookup(type, condition));
  const [step = '', ...others] = plan;
  if (!isNamed && query.conditions.some((condition) => isPrefix(type, condition)))
    return (
      /^SEARCH \w+ USING (COVERING )?INDEX \w+ \(name_key>\?( AND name_key<\?)?\)$/.test(step) &&
      others.every((other) => other === 'USE TEMP B-TREE FOR ORDER BY')
    );
  if (isNamed)
    return (
      /^SEARCH \w+ USING (COVERING )?INDEX \w+ \((name_key|name|id)=\?/.test(step) &&
      others.every((other) => /ORDER BY/.test(other))
    );
  const isWhole = query.conditions.every(
    (condition) => 'field' in condition && condition.field === type.owner,
  );
  // A SEARCH with all columns of the order begins at the marker. A SEARCH with only the first of
  // two columns would begin at the first equal value.
  const { sortField, after, conditions } = query;
  const isOne = sortField === 'id' || (sortField === type.unique?.field && !type.unique.per);
  const marker = isOne ? String.raw`\w+[<>]\?` : String.raw`\(\w+,id\)[<>]\(\?,\?\)`;
  const columns = [
    ...conditions.map(() => String.raw`\w+=\?`),
    ...(after === undefined ? [] : [marker]),
  ];
  const range = columns.length === 0 ? '' : ` \\(${columns.join(' AND ')}\\)`;
  const way = columns.length === 0 ? 'SCAN' : 'SEARCH';
  return (
    isWhole &&
    others.length === 0 &&
    new RegExp(`^${way} \\w+ USING (COVERING )?INDEX \\w+${range}$`).test(step)
  );
}

function isPrefix(type: ResourceType, condition: Condition): boolean {
  return (
    condition.test === 'matches' &&
    'lookup' in condition &&
    condition.lookup === uniqueOf(type).field
  );
}

/**
 * Returns every combination of up to two filters, with and without the condition on the owner. Each
 * filter is an equality or a pattern.
 */
function conditionsOf(type: ResourceType): Condition[][] {
  const filters = Object.entries(type.filters).map(([name, form]): Condition[] => {
    const subject = form === 'unique' ? { lookup: uniqueOf(type).field } : { field: name };
    return [
      { ...subject, test: '=', value: 'x' },
      { ...subject, test: 'matches', value: 'x*' },
    ];
  });
  const single = filters.flat();
  const pairs = filters.flatMap((some, index) =>
    some.flatMap((one) =>
      filters.slice(index + 1).flatMap((others) => others.map((other) => [one, other])),
    ),
  );
  const sets = [[], ...single.map((condition) => [condition]), ...pairs];
  const owned: Condition[] =
    type.owner === undefined ? [] : [{ field: type.owner, test: '=', value: 'project' }];
  return owned.length === 0 ? sets : [...sets, ...sets.map((set) => [...set, ...owned])];
}

const COLLECTIONS = RESOURCE_TYPES.map((type) => ({ type, collection: type.collection }));

test.each(STORED_TYPES.map((type) => ({ type, collection: type.collection })))(
  'INDEXES lists exactly the indexes of $collection',
  ({ type: { collection } }) => {
    const indexes = planner
      .prepare(`SELECT name FROM pragma_index_list('${collection}')`)
      .all() as { name: string }[];
    const columns = indexes.map(({ name }) =>
      (planner.prepare(`SELECT name FROM pragma_index_info('${name}')`).all() as { name: string }[])
        .map((column) => column.name)
        .join(', '),
    );
    expect(INDEXES[collection]?.toSorted()).toEqual(columns.toSorted());
  },
);

test.each(COLLECTIONS)('one resource of $collection is read by an index', ({ type }) => {
  const table = tableOf(type, database.dialect);
  for (const text of [table.get, table.find('name', ['x']).text, table.remove]) {
    const plan = planOf({ text, parameters: ['x'] });
    expect(plan.length).toBeGreaterThan(0);
    for (const step of plan)
      // the table, and those whose rows go with the row
      expect(step).toMatch(/^SEARCH \w+ USING (COVERING )?INDEX \w+ \(\w+=\?\)$/);
  }
});

describe.each(COLLECTIONS)('lists of $collection', ({ type }) => {
  const positions: Pick<PageQuery, 'after'>[] = [{}, { after: { sortValue: 'x', id: 'x' } }];

  test('run on the event loop only if they use an index or select one name; otherwise they are scans', async () => {
    let read = 0;
    for (const conditions of conditionsOf(type)) {
      for (const sortField of Object.values(sortFields(type))) {
        for (const descending of [false, true]) {
          for (const position of positions) {
            for (const count of [false, true]) {
              const query: PageQuery = {
                limit: 10,
                sortField,
                descending,
                conditions,
                count,
                ...position,
              };
              await page(type, query);
              expect(statements.length + scans.length).toBeGreaterThan(0);
              read += statements.length;
              for (const statement of statements) {
                const plan = planOf(statement);
                if (!isBounded(type, query, plan))
                  expect([statement.text, plan]).toEqual(['a bounded statement', []]);
              }
            }
          }
        }
      }
    }
    expect(read).toBeGreaterThan(0);
  });
});
