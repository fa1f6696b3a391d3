import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

/** A connection that holds locks. The requests of the first caller wait for these locks. */
let locks: pg.Client;
let service: TestService;
beforeAll(async () => {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'shares');
  service = await startTestService({
    TSIGIL_DATABASE_URL: url,
    TSIGIL_DATABASE_POOL_MAX_CONNECTIONS: '4',
  });
  locks = new pg.Client({ connectionString: url });
  await locks.connect();
});
beforeEach(async () => {
  await locks.query('BEGIN');
});
afterAll(async () => {
  await locks.end();
  await service.close();
});

/** Returns the number of statements that wait for a lock. */
const blocked = async () => {
  // Without this statement, every read returns the numbers of the first read.
  await locks.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await locks.query<{ count: string }>(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return Number(rows[0]?.count);
};

test('200 for another caller while 20 writes of one caller wait for the database', async () => {
  const other = await clientFor(service, ['admin']);
  await locks.query('LOCK TABLE tlds');
  const writes = Array.from({ length: 20 }, (_, number) =>
    service.post('/v2/tlds', { name: `name-${number}` }),
  );
  await expect.poll(blocked).toBe(1); // one of the two connections for point queries
  expect((await other.get('/v2/pools')).status).toBe(200);
  await locks.query('COMMIT');
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(writes.map(() => 201));
});
