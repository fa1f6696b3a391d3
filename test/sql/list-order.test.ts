import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PageQuery } from '../../src/core/query.ts';
import { sortFields } from '../../src/core/resource.ts';
import { zone } from '../../src/resources/zone.ts';
import { migrate } from '../../src/sql/migrate.ts';
import type { Database } from '../../src/sql/sql.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import { createStore } from '../../src/database/store.ts';
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
