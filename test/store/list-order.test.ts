import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PageQuery } from '../../src/domain/model/query.ts';
import { sortFields, type ResourceType } from '../../src/domain/model/resource.ts';
import { tld } from '../../src/domain/resources/tld.ts';
import { zone } from '../../src/domain/resources/zone.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { Database } from '../../src/store/sql/sql.ts';
import { tableOf } from '../../src/store/sql/table.ts';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import { scanStepsOn } from '../../src/store/sqlite/scans/scan-steps.ts';
import { walkOf } from '../../src/store/sqlite/scans/walk.ts';
import { createStore } from '../../src/store/store.ts';
import { temporaryFolder } from '../harness/service.ts';
import { NOW, sampleOf, keyedRows } from './samples.ts';

const TURN = { owner: 'test', signal: () => undefined };
const folder = temporaryFolder();
const path = join(folder, 'order.db');
let database: Database;

beforeAll(async () => {
  database = await openSqlite(path, { committed: () => undefined });
  await migrate(database, NOW);
  const zones = ['b', 'C', 'a', 'D'].flatMap((name, index) =>
    ['x', 'y'].map((suffix) =>
      sampleOf(zone, {
        name: `${name}${suffix}.`,
        ttl: 8 + (index % 3),
        serial: 10 - index,
        project_id: `project${index % 2}`,
        created_at: `2026-01-02T03:04:05.00000${index % 3}`,
        updated_at: index === 0 ? null : `2026-01-02T03:04:06.00000${index % 2}`,
      }),
    ),
  );
  await createStore(database).write((writer) => writer.putAll(zone, keyedRows(zone, zones)));
});
afterAll(() => database.close());

const fields = [...new Set(Object.values(sortFields(zone)))];
const orders = fields.flatMap((sortField) =>
  [false, true].map((descending) => ({ sortField, descending })),
);

test.each(orders)(
  'a list by $sortField (descending: $descending) is sorted even if the database returns the rows of a page in another order',
  async ({ sortField, descending }) => {
    const query: PageQuery = { limit: 5, sortField, descending, conditions: [] };
    const shuffled = createStore({
      ...database,
      reads: {
        ...database.reads,
        all: async (...statement) => (await database.reads.all(...statement)).toReversed(),
      },
    });
    const expected = await createStore(database).list(zone, query);
    expect(await shuffled.list(zone, query)).toEqual(expected);
    const page = await createStore(database).page(zone, query, TURN);
    expect(page.resources).toEqual(expected);
    expect((await shuffled.page(zone, query, TURN)).resources).toEqual(expected);
  },
);

test('a scan step in list order has ORDER BY inside its JSON aggregate', () => {
  const connection = new DatabaseSync(path, { readOnly: true });
  const texts: string[] = [];
  const noting = Object.create(connection, {
    function: { value: connection.function.bind(connection) },
    prepare: { value: (text: string) => (texts.push(text), connection.prepare(text)) },
  }) as DatabaseSyncInstance;
  const steps = scanStepsOn(noting, path);
  for (const type of [tld, zone] as ResourceType[]) {
    for (const sortField of ['created_at', 'updated_at', 'name', 'id']) {
      const query: PageQuery = { limit: 5, sortField, descending: true, conditions: [] };
      const scanned = { type, query, walk: walkOf(type, query) };
      steps.firstRows(scanned, tableOf(type, database.dialect).columns, undefined, undefined, 5);
    }
  }
  connection.close();
  expect(texts.length).toBeGreaterThan(4);
  for (const text of texts)
    expect(text).toMatch(/json_group_array\(json_array\([^)]*\) ORDER BY \w+ DESC[^)]*\)/);
});
