import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseDatabase } from '../../src/store/databases.ts';
import { MIGRATIONS } from '../../src/store/migrate.ts';
import { tsigil } from '../cli/run.ts';
import { problemsOf, TSIGKEYS } from '../harness/samples.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';

let folder: string;
let service: TestService | undefined;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The number of the last migration before the migration that records the default. */
const LAST_WITHOUT_DEFAULT = 3;
const EARLIER = '2026-01-31T12:00:00.000000';

/** Starts a service without a value for `tsigkeys.strict`, on the database `name` in the folder. */
async function start(name: string, variables: Record<string, string> = {}): Promise<TestService> {
  await service?.close();
  service = await startTestService(
    {
      TSIGIL_DATABASE_URL: `sqlite:${join(folder, name)}`,
      TSIGIL_TSIGKEYS_STRICT: '',
      ...variables,
    },
    { folder },
  );
  return service;
}

/** Creates a database with the schema of a version that did not record the default. */
async function createEarlierDatabase(name: string): Promise<void> {
  const { kind, location } = parseDatabase(`sqlite:${join(folder, name)}`);
  const database = await kind.open(
    location,
    { committed: () => undefined },
    {
      maxConnections: 1,
      connectTimeoutSeconds: 5,
      statementTimeoutSeconds: 5,
      scanTimeoutSeconds: 5,
    },
  );
  await database.migrate(async (sql) => {
    await sql.run(
      'CREATE TABLE schema_migrations (number INTEGER NOT NULL PRIMARY KEY, applied_at TEXT NOT NULL)',
      [],
    );
    for (const { number, statements } of MIGRATIONS) {
      if (number > LAST_WITHOUT_DEFAULT) break;
      for (const statement of statements(database.dialect, EARLIER)) await sql.run(statement, []);
      await sql.run('INSERT INTO schema_migrations (number, applied_at) VALUES (?, ?)', [
        number,
        EARLIER,
      ]);
    }
  });
  await database.close();
}

/** Creates a key with a name that is invalid in DNS, and returns the status. */
const create = async (target: TestService, name: string) =>
  (await target.post('/v2/tsigkeys', TSIGKEYS.body(name))).status;

test('400 for a key that no name server can use, with a new database', async () => {
  const created = await start('new.db');
  const body = { ...TSIGKEYS.body('no name'), secret: 'no base64' };
  expect(problemsOf(await created.post('/v2/tsigkeys', body))).toEqual([
    'name: format',
    'secret: format',
  ]);
  expect(await create(await start('new.db'), 'no name')).toBe(400);
});

test('201 for a key that no name server can use, with a database of an earlier version', async () => {
  await createEarlierDatabase('earlier.db');
  expect(await create(await start('earlier.db'), 'one name')).toBe(201);
  expect(await create(await start('earlier.db'), 'two names')).toBe(201);
});

test('201 or 400 according to tsigkeys.strict, if the setting has a value', async () => {
  await createEarlierDatabase('earlier.db');
  expect(await create(await start('earlier.db', { TSIGIL_TSIGKEYS_STRICT: 'true' }), 'a b')).toBe(
    400,
  );
  expect(await create(await start('new.db', { TSIGIL_TSIGKEYS_STRICT: 'false' }), 'a b')).toBe(201);
  expect(await create(await start('new.db', { TSIGIL_COMPATIBILITY: 'designate' }), 'c d')).toBe(
    201,
  );
});

test('201 for a key that no name server can use, with a copy of a database of an earlier version', async () => {
  await createEarlierDatabase('earlier.db');
  await (await start('earlier.db')).close();
  service = undefined;
  const [from, to] = ['earlier.db', 'copy.db'].map((name) => `sqlite:${join(folder, name)}`);
  const { status, err } = await tsigil(
    folder,
    {},
    ...['copy-database', '--from', from ?? '', '--to', to ?? ''],
  );
  expect({ status, err }).toEqual({ status: 0, err: '' });
  expect(await create(await start('copy.db'), 'a b')).toBe(201);
});
