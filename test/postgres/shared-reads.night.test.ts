import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedReads } from '../../src/sql/postgres/shared-reads.ts';
import type { Query } from '../../src/sql/postgres/statements.ts';
import { createDatabase } from '../harness/postgres.ts';

const READS = Array.from({ length: 100 }, (_, number) => number);

let pool: pg.Pool;
let read: Query;
beforeAll(async () => {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'shared-reads');
  pool = new pg.Pool({ connectionString: url, max: 4, pipeline: true });
  pool.on('error', () => undefined); // a test ends connections
  read = sharedReads(pool);
});
afterAll(() => pool.end());

/** Returns 1000 divided by `number`, and the process of the server that divided. */
async function divide(number: number): Promise<{ result: number; process: number }> {
  const text = 'SELECT 1000 / $1::int AS result, pg_backend_pid() AS process';
  const { rows } = await read({ name: 'divide', text, values: [number] });
  return rows[0] as { result: number; process: number };
}

test('each of many reads gets its own row, over at most two connections', async () => {
  const found = await Promise.all(READS.map((number) => divide(number + 1)));
  expect(found.map(({ result }) => result)).toEqual(
    READS.map((number) => Math.trunc(1000 / (number + 1))),
  );
  expect(new Set(found.map(({ process }) => process)).size).toBeLessThanOrEqual(2);
});

test('a read that fails does not fail the reads that were sent with it', async () => {
  const outcomes = await Promise.allSettled(READS.map((number) => divide(number % 5)));
  expect(outcomes.map(({ status }) => status)).toEqual(
    READS.map((number) => (number % 5 === 0 ? 'rejected' : 'fulfilled')),
  );
});

test('if the server ends a connection, its reads fail, and later reads use another one', async () => {
  const text = 'SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep($1)';
  const outcomes = await Promise.allSettled([
    read({ name: 'end', text, values: [0] }),
    ...READS.slice(0, 10).map((number) => divide(number + 1)),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'));
  expect((await divide(10)).result).toBe(100);
});
