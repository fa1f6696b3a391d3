import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClock } from '../../src/clock.ts';
import { status } from '../../src/status/actions.ts';
import { keyed } from '../../src/core/query.ts';
import { nameServer } from '../../src/resources/name-server.ts';
import { tsigkey } from '../../src/resources/tsigkey.ts';
import { createSlicer } from '../../src/core/scheduling/slicer.ts';
import { readBackupState } from '../../src/audit/store/last-backup.ts';
import { readRecords } from '../../src/audit/store/read.ts';
import { openDelivery } from '../../src/delivery/store/delivery-status.ts';
import { openDatabase, type OpenedDatabase } from '../../src/database/open-database.ts';
import { keysThatIn } from '../../src/status/store.ts';
import { createKeyring } from '../../src/secrets/store/create-keyring.ts';
import { runEncryption } from '../../src/secrets/store/encryption.ts';
import type { Database, SqlValue } from '../../src/sql/sql.ts';
import { createStore } from '../../src/database/store.ts';
import { CALLER, serverDependenciesOn, SETTINGS } from '../harness/dependencies.ts';
import { temporaryFolder, testDatabase } from '../harness/service.ts';
import { sampleOf } from '../sql/samples.ts';

const POOL = { maxConnections: 2, statementTimeoutSeconds: 60 };
const KEYS = 3000;
const clock = createClock();

let opened: OpenedDatabase;
const statements: { text: string; parameters: readonly SqlValue[] }[] = [];
beforeAll(async () => {
  opened = await openDatabase(await testDatabase(temporaryFolder()), POOL, clock);
  const { database, store } = opened;
  const at = clock();
  const rows = Array.from({ length: KEYS }, (_, index) =>
    sampleOf(tsigkey, {
      name: `key-${index}`,
      secret_set_at: at,
      created_at: at,
      weak: index === 0,
      orphaned: index === 1,
      unusable: index === 2,
    }),
  );
  await store.write(async (writer) => {
    await writer.insert(nameServer, keyed(nameServer, sampleOf(nameServer)));
    await writer.putAll(
      tsigkey,
      rows.map((row) => keyed(tsigkey, row)),
    );
  });
  await database.write(async (sql) => {
    await sql.run(
      `INSERT INTO data_keys (number, purpose, wrapped, wrapped_by, created_at)
        VALUES (1, 'secrets', '', '', ?)`,
      [at],
    );
    await sql.run("UPDATE tsigkeys SET secret_key = 1 WHERE name <> 'key-3'", []);
    if (isPostgres()) await sql.run('ANALYZE', []);
  });
});
afterAll(() => opened.store.close());

function isPostgres(): boolean {
  return process.env.TEST_DATABASE === 'postgres';
}

/** Returns a database that notes what it reads. A list without an index is no statement to note. */
function noting(database: Database): Database {
  const { reads } = database;
  const note = (text: string, parameters: readonly SqlValue[]) =>
    statements.push({ text, parameters });
  return {
    ...database,
    reads: {
      ...reads,
      all: (text, parameters, use) => (note(text, parameters), reads.all(text, parameters, use)),
      one: (text, parameters, use) => (note(text, parameters), reads.one(text, parameters, use)),
    },
    scan(collection, query, signal) {
      statements.push({ text: `SELECT 1 FROM ${collection}`, parameters: [] });
      return database.scan(collection, query, signal);
    },
  };
}

/** Returns the steps of a statement that read all keys: no index of few keys, and no range of one. */
async function walks(text: string, parameters: readonly SqlValue[]): Promise<string[]> {
  const explain = isPostgres() ? 'EXPLAIN' : 'EXPLAIN QUERY PLAN';
  const rows = await opened.reads.all(`${explain} ${text}`, parameters, 'once');
  const steps = rows.map((row) => String(row.detail ?? row['QUERY PLAN']));
  return steps.filter((step, index) =>
    isPostgres()
      ? / on tsigkeys/.test(step) && !/_(marked|lost)|Cond: /.test(`${step}${steps[index + 1]}`)
      : /^SCAN tsigkeys/.test(step),
  );
}

test('the check of a plan detects a walk over all keys', async () => {
  expect(await walks('SELECT id FROM tsigkeys WHERE algorithm = ?', ['x'])).toHaveLength(1);
  expect(await walks('SELECT id FROM tsigkeys WHERE weak = 0', [])).toHaveLength(1);
});

test('the status reads keys only by an index that has few of them, and counts them up to a limit', async () => {
  const database = noting(opened.database);
  const store = createStore(database);
  const { reads } = database;
  const absent = () => Promise.reject(new Error('This part is not running'));
  const others = serverDependenciesOn(store, { settings: { ...SETTINGS, maxAgeDays: 100 }, clock });
  const encryption = runEncryption({
    database,
    keyring: createKeyring([]),
    required: false,
    now: clock,
    failed: () => undefined,
  });
  if (!('run' in status)) throw new Error('The status is one object');
  const shown = await status.run({
    dependencies: {
      ...others,
      encryption,
      keysThat: keysThatIn(database),
      delivery: { ...others.delivery, ...openDelivery(database, store, clock).status },
      audit: {
        ...others.audit,
        backups: () => readBackupState(reads),
        records: (query) => readRecords(reads, query),
      },
    },
    context: { caller: CALLER, requestId: 'test' },
    base: '',
    id: '',
    parameters: {},
    body: undefined,
    knownTag: undefined,
    expects: undefined,
    isForced: false,
    slicer: createSlicer(() => 0),
    connection: { waitFor: absent, disconnected: () => new AbortController().signal },
    pageLinks: () => ({ self: '' }),
  });
  await encryption.close();
  expect(shown).toMatchObject({
    tsigkeys: { total: 1000, weak: 1, orphaned: 1, unusable: 1 },
    encryption: { clear_text: 1 },
    problems: expect.arrayContaining([
      {
        section: 'encryption',
        message: 'secrets in clear text: 1',
        run: 'tsigil encryption status',
      },
    ]) as object[],
  });
  const ofKeys = statements.filter(({ text }) => text.includes('tsigkeys'));
  expect(ofKeys.length).toBeGreaterThan(10);
  const total =
    /^SELECT count\(\*\) AS count FROM \(SELECT .* FROM tsigkeys ORDER BY created_at ASC, id ASC LIMIT \?\)/;
  for (const { text, parameters } of ofKeys)
    if (!total.test(text)) expect([text, await walks(text, parameters)]).toEqual([text, []]);
  expect(ofKeys.filter(({ text }) => total.test(text))).toHaveLength(1);
});
