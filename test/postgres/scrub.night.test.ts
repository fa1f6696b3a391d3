import pg from 'pg';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scrub } from '../../src/sql/postgres/scrub.ts';
import { sqlOn } from '../../src/sql/postgres/statements.ts';
import type { Sql } from '../../src/sql/sql.ts';
import { contentBelow, createDatabase } from '../harness/postgres.ts';

/** The values of the column. The statistics of PostgreSQL contain samples of these values. */
const VALUES = Array.from({ length: 300 }, (_, index) => `former-secret-${index}-`.padEnd(60, 'x'));

let url: string;
let clients: pg.Client[];
let sql: Sql;
beforeEach(async () => {
  url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `scrub-${Date.now()}`);
  clients = [];
  const client = await connect(url);
  sql = sqlOn((query) => client.query(query));
  await sql.run('CREATE TABLE secrets (id integer PRIMARY KEY, secret text)', []);
  for (const [id, value] of VALUES.entries())
    await sql.run('INSERT INTO secrets VALUES (?, ?)', [id, value]);
  await sql.run('ANALYZE secrets', []);
});
afterEach(async () => {
  for (const client of clients) await client.end();
});

async function connect(database: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  clients.push(client);
  return client;
}

/**
 * Begins a transaction that delays the removal of old rows. Returns a function that ends the
 * transaction.
 */
async function openTransaction(database: string, statement: string): Promise<() => Promise<void>> {
  const client = await connect(database);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query(statement);
  return async () => {
    await client.query('COMMIT');
  };
}

async function remains(): Promise<string[]> {
  await sql.run('CHECKPOINT', []);
  const row = await sql.one(
    "SELECT current_setting('data_directory') AS folder, oid::text FROM pg_database WHERE datname = current_database()",
    [],
  );
  const folder = join(String(row?.['folder']), 'base', String(row?.['oid']));
  const content = contentBelow(folder);
  return VALUES.filter((value) => content.includes(value));
}

test.each([
  ['that reads the same database', () => url, 'SELECT count(*) FROM secrets'],
  [
    'that writes to another database of the server',
    () => process.env.TEST_POSTGRES_URL ?? '',
    'SELECT txid_current()',
  ],
])(
  'a scrub waits for a transaction %s, and then no former value is in any file',
  async (_, database, statement) => {
    const end = await openTransaction(database(), statement);
    await sql.run("UPDATE secrets SET secret = 'replaced ' || id", []);
    let hasEnded = false;
    const scrubbed = scrub(sql, ['secrets'], 60_000).then(() => hasEnded);
    await expect(scrub(sql, ['secrets'], 100)).rejects.toThrow(
      'Earlier transactions on the PostgreSQL server did not end within 0.1 s',
    );
    hasEnded = true;
    await end();
    expect(await scrubbed).toBe(true);
    expect(await remains()).toEqual([]);
  },
);
