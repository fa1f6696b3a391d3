import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClock } from '../../src/clock.ts';
import type { Dependencies } from '../../src/domain/operations/change.ts';
import { listResources } from '../../src/domain/operations/collection.ts';
import { zone } from '../../src/domain/resources/zone.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openPostgres } from '../../src/store/postgres/open.ts';
import type { Database } from '../../src/store/sql/sql.ts';
import { createStore } from '../../src/store/store.ts';
import { CALLER, dependenciesOn, SETTINGS } from '../harness/dependencies.ts';
import { createDatabase } from '../harness/postgres.ts';

const READER = { ...CALLER, roles: ['reader'], projectId: 'project' };
const CONNECTIONS = 3;

let database: Database;
let dependencies: Dependencies;
beforeAll(async () => {
  const url = await createDatabase(
    process.env.TEST_POSTGRES_URL ?? '',
    `statements-${randomUUID()}`,
  );
  const pool = {
    maxConnections: CONNECTIONS,
    statementTimeoutSeconds: 60,
    scanTimeoutSeconds: 60,
  };
  database = await openPostgres(
    url.replace(/^postgres:/, ''),
    { committed: () => undefined },
    pool,
  );
  const clock = createClock();
  await migrate(database, clock());
  dependencies = dependenciesOn(createStore(database), {
    clock,
    settings: { ...SETTINGS, defaultLimit: 10 },
  });
});
afterAll(() => database.close());

/** Returns the private memory of each server process for this database in MB, by process id. */
async function backends(): Promise<Map<number, number>> {
  const rows = await database.reads.all(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database()',
    [],
  );
  return new Map(
    rows.map(({ pid }) => [
      pid as number,
      Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]) /
        1024,
    ]),
  );
}

/** Returns the number of prepared statements of each connection for reads. */
async function preparedStatements(): Promise<number[]> {
  const counts = Array.from({ length: CONNECTIONS * 4 }, async () => {
    const row = await database.reads.one(
      'SELECT count(*) AS count, pg_sleep(0.05) FROM pg_prepared_statements',
      [],
    );
    return row?.count as number;
  });
  return Promise.all(counts);
}

/** Lists zones with filters, values, patterns and a sort order that depend on `number`. */
function list(number: number): Promise<unknown> {
  const filters = ['name', 'type', 'email', 'status', 'description', 'ttl'].map(
    (name): [string, string] => {
      const value = (number >> name.length) % 2 === 0 ? `value-${number}` : `value-${number}*`;
      return [name, name === 'ttl' ? '3600' : value];
    },
  );
  const kept = filters.filter((_, index) => (number >> index) % 2 === 0);
  for (let index = kept.length - 1; index > 0; index -= 1) {
    const other = (number * 7 + index * 13) % (index + 1);
    [kept[index], kept[other]] = [kept[other] ?? ['', ''], kept[index] ?? ['', '']];
  }
  const order: [string, string][] = [
    ['sort_key', ['created_at', 'name', 'serial', 'ttl'][number % 4] ?? ''],
    ['sort_dir', number % 3 === 0 ? 'desc' : 'asc'],
  ];
  return listResources(dependencies, zone, READER, [...kept, ...order]);
}

/** The maximum number of concurrent lists of one caller. */
const AT_A_TIME = 40;
const lists = (start: number) =>
  Promise.all(Array.from({ length: AT_A_TIME }, (_, number) => list(start + number)));

test('different lists cause fewer than 50 prepared statements and less than 4 MB of additional memory per connection', async () => {
  await lists(0);
  const before = await backends();
  for (let start = AT_A_TIME; start < 4000; start += AT_A_TIME) await lists(start);
  for (const count of await preparedStatements()) expect(count).toBeLessThan(50);
  for (const [pid, megabytes] of await backends())
    expect(megabytes - (before.get(pid) ?? megabytes)).toBeLessThan(4);
});
