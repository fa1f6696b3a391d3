import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createFirstToken } from '../../src/tokens/first-token.ts';
import { createClock } from '../../src/clock.ts';
import { hashToken } from '../../src/core/token-hash.ts';
import { token } from '../../src/resources/token.ts';
import { openDatabase, type OpenedDatabase } from '../../src/database/open-database.ts';
import {
  openKeyring,
  prepareSecrets,
  type OpenedKeyring,
} from '../../src/secrets/store/open-keyring.ts';
import { migrate } from '../../src/sql/migrate.ts';
import { openPostgres } from '../../src/sql/postgres/open.ts';
import type { Database } from '../../src/sql/sql.ts';
import { dependenciesOn, SETTINGS } from '../harness/dependencies.ts';
import { createDatabase } from '../harness/postgres.ts';
import {
  startServiceProcess,
  temporaryFolder,
  TEST_MASTER_KEY,
  type ServiceProcess,
} from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';

const LIMITS = {
  maxConnections: 4,
  statementTimeoutSeconds: 60,
  scanTimeoutSeconds: 60,
};

const ENCRYPTION = { masterKey: TEST_MASTER_KEY, required: true };

const clock = createClock();
let url: string;
let folder: string;
let file: string;
let observer: pg.Client;

beforeEach(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `first-start-${randomUUID()}`);
  folder = temporaryFolder();
  file = join(folder, 'var/admin.token');
  observer = new pg.Client({ connectionString: url });
  await observer.connect();
});
afterEach(() => observer.end());

describe('of two processes that start on an empty database', () => {
  test('the one whose token is stored writes the file, even if the other comes later', async () => {
    const [first, second] = [await opened(), await opened()];
    await observer.query('BEGIN');
    await observer.query('LOCK TABLE audit_records IN SHARE MODE');
    const one = firstTokenOf(first);
    await untilWaiting(1); // with its token, for its record
    const other = firstTokenOf(second);
    await untilWaiting(2); // for the end of the first
    expect(existsSync(file)).toBe(false);
    await observer.query('ROLLBACK');
    expect(await Promise.all([one, other])).toEqual([true, false]);
    await expectStored(first);
  });

  test('the other writes the file if the one fails', async () => {
    const [first, second] = [await opened(), await opened()];
    await observer.query('BEGIN');
    await observer.query('LOCK TABLE audit_records IN SHARE MODE');
    const one = firstTokenOf(first);
    const failed = expect(one).rejects.toMatchObject({ code: 'unavailable' });
    await untilWaiting(1);
    const { rows } = await observer.query(`SELECT pid ${WAITING}`);
    const other = firstTokenOf(second);
    await untilWaiting(2);
    await observer.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    await failed;
    expect(existsSync(file)).toBe(false);
    await observer.query('ROLLBACK');
    expect(await other).toBe(true);
    await expectStored(second);
  });

  test('the one that finds the keys of the other can use them', async () => {
    const late = await openedPlainly();
    const { report } = await prepare(late, async () => {
      const steps = await migrate(late.database, clock());
      await firstTokenOf(await opened());
      return steps;
    });
    expect(report).toMatchObject({ clear: 0, unsigned: 0 });
    expect(late.secrets.keyring.auditKey()).toBeDefined();
    expect(late.secrets.keyring.credentialMac('tokens', [])).toEqual(expect.any(String));
  });

  test('the one that still saw no keys does not take the token of the other for a forgery', async () => {
    const late = await openedPlainly();
    const { reads } = late.database;
    const database: Database = {
      ...late.database,
      reads: {
        ...reads,
        async all(text, ...details) {
          const rows = await reads.all(text, ...details);
          const isFirst = text.includes('FROM data_keys') && !existsSync(file);
          if (isFirst) await firstTokenOf(await opened());
          return rows;
        },
      },
    };
    const { report } = await prepare({ ...late, database }, () => migrate(database, clock()));
    expect(existsSync(file)).toBe(true);
    expect(report).toMatchObject({ clear: 0, unsigned: 0 });
    expect(late.secrets.keyring.auditKey()).toBeDefined();
  });

  test('the token in the file works at both', async () => {
    for (let turn = 0; turn < sized(1, 20); turn += 1) {
      url = await createDatabase(url, `first-start-${randomUUID()}`);
      folder = temporaryFolder();
      const start = () =>
        startServiceProcess(folder, { TSIGIL_ADMIN_TOKEN: '', TSIGIL_DATABASE_URL: url });
      const both: ServiceProcess[] = await Promise.all([start(), start()]);
      const text = readFileSync(join(folder, 'var/admin.token'), 'utf8').trim();
      const statuses = both.map(async (each) => (await each.with(text).get('/v2/tokens')).status);
      expect(await Promise.all(statuses)).toEqual([200, 200]);
      expect(await Promise.all(both.map((each) => each.stop('SIGTERM')))).toEqual([0, 0]);
    }
  });
});

const WAITING = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** Waits until this number of statements wait for locks of others. */
async function untilWaiting(count: number): Promise<void> {
  await vi.waitFor(
    async () => expect((await observer.query(`SELECT pid ${WAITING}`)).rows).toHaveLength(count),
    { interval: 10, timeout: 60_000 },
  );
}

/** Opens the database as a process of the service does. */
async function opened(): Promise<OpenedDatabase> {
  const secrets = openKeyring(url, ENCRYPTION);
  const one = await openDatabase(url, LIMITS, clock, { secrets });
  onTestFinished(() => one.store.close());
  return one;
}

interface Plain {
  readonly database: Database;
  readonly secrets: OpenedKeyring;
}

/** Opens the database without its schema and its keys. */
async function openedPlainly(): Promise<Plain> {
  const secrets = openKeyring(url, ENCRYPTION);
  const settings = { ...LIMITS, keyring: secrets.keyring };
  const location = url.replace(/^postgres:/, '');
  const database = await openPostgres(location, { committed: () => undefined }, settings);
  onTestFinished(() => database.close());
  return { database, secrets };
}

function prepare({ database, secrets }: Plain, updateSchema: () => Promise<number[]>) {
  return prepareSecrets(database, secrets, updateSchema, clock);
}

function firstTokenOf({ store }: OpenedDatabase): Promise<boolean> {
  const settings = { ...SETTINGS, otherAdministrators: false };
  return createFirstToken(dependenciesOn(store, { settings }), file);
}

/** Asserts that the token in the file is the only one of the database. */
async function expectStored({ store }: OpenedDatabase): Promise<void> {
  const hash = hashToken(readFileSync(file, 'utf8').trim());
  expect(await store.find(token, 'hash', [hash])).toHaveLength(1);
  expect((await observer.query('SELECT id FROM tokens')).rows).toHaveLength(1);
}
