import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createFirstToken } from '../../src/auth/first-token.ts';
import { createClock } from '../../src/clock.ts';
import { openDatabase, type OpenedDatabase } from '../../src/store/open-database.ts';
import { openKeyring, prepareSecrets, type OpenedKeyring } from '../../src/store/open-keyring.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openPostgres } from '../../src/store/postgres/open.ts';
import type { Database } from '../../src/store/sql/sql.ts';
import { dependenciesOn, SETTINGS } from '../harness/dependencies.ts';
import { createDatabase } from '../harness/postgres.ts';
import { temporaryFolder, TEST_MASTER_KEY } from '../harness/service.ts';

const LIMITS = {
  maxConnections: 4,
  connectTimeoutSeconds: 60,
  statementTimeoutSeconds: 60,
  scanTimeoutSeconds: 60,
};

const ENCRYPTION = { masterKey: TEST_MASTER_KEY, required: true };

const clock = createClock();
let url: string;
let file: string;

beforeEach(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `first-start-${randomUUID()}`);
  file = join(temporaryFolder(), 'var/admin.token');
});

describe('of two processes that start on an empty database', () => {
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
});

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
