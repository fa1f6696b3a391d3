import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import { TSIGKEYS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
let admin: pg.Client;
beforeAll(async () => {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', 'errors');
  service = await startTestService({ TSIGIL_DATABASE_URL: url });
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await service.close();
});

/** Returns the log lines at level `error` after the first `before` lines. */
const errors = (before: number) =>
  service.log.slice(before).filter((line) => line.includes('"level":"error"'));

test('500 for a row that the database refuses; the log has its code, table and constraint, but no value', async () => {
  const secret = 'YW5vdGhlciBzZWNyZXQgdGhhdCBubyBsb2cgbWF5IHNob3c=';
  await admin.query('ALTER TABLE tsigkeys ADD CONSTRAINT no_more_keys CHECK (name = $$none$$)');
  const before = service.log.length;
  const response = await service.post('/v2/tsigkeys', { ...TSIGKEYS.body('refused'), secret });
  await admin.query('ALTER TABLE tsigkeys DROP CONSTRAINT no_more_keys');
  expect(response.status).toBe(500);
  expect(errors(before)).toHaveLength(1);
  for (const word of ['23514', 'tsigkeys', 'no_more_keys'])
    expect(errors(before)[0]).toContain(word);
  expect(service.log.join('\n')).not.toContain(secret);
  expect(response.text).not.toContain(secret);
});
