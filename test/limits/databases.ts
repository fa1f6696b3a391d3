import { copyFileSync, existsSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { comparisonForm, treeForm } from '../../src/domain/text/dns-name.ts';
import { openStore } from '../harness/dependencies.ts';
import { runFolder } from '../harness/evidence.ts';
import { createDatabase, queryPostgres } from '../harness/postgres.ts';
import { seed, withDatabase } from '../harness/trail.ts';

/** The project that owns the zones of these databases. */
export const PROJECT = 'crowd';

/** The number of zones in these databases. */
const ZONES = 100_000;

const POOL = { maxConnections: 1, connectTimeoutSeconds: 5, statementTimeoutSeconds: 60 };

/** A placeholder for the six-digit number of a zone. */
const NUMBER = 'nnnnnn';

/** The slowest name for pattern matching: a long name that repeats one letter. */
const NAME = `${'a'.repeat(40)}.${'a'.repeat(40)}.zone-${NUMBER}.example.`;

/** The columns of a zone, with their values as SQL expressions. */
const COLUMNS = {
  id: text(`00000000-0000-4000-8000-000000${NUMBER}`),
  pool_id: text('794ccc2c-d751-44fe-b57f-8894c9f5c842'),
  project_id: text(PROJECT),
  name: text(NAME),
  name_key: text(comparisonForm(NAME)),
  tree_key: text(treeForm(comparisonForm(NAME))),
  email: text('hostmaster@example.org'),
  description: text('a'.repeat(100)),
  ttl: '3600',
  serial: '1 + n',
  shared: '0',
  version: '1',
  status: text('ACTIVE'),
  action: text('NONE'),
  attributes: text('{}'),
  type: text('PRIMARY'),
  masters: text('[]'),
  created_at: text(`2026-01-01T00:00:00.${NUMBER}`),
};

/** SQL that creates all zones, for SQLite and PostgreSQL. */
const FILL = `
  WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ZONES - 1})
  INSERT INTO zones (${Object.keys(COLUMNS).join(', ')}) SELECT ${Object.values(COLUMNS).join(', ')} FROM numbers`;

function text(value: string): string {
  return `'${value.replaceAll(NUMBER, "' || CAST(100000 + n AS TEXT) || '")}'`;
}

/** Creates the schema in the database at this URL. */
async function createSchema(setting: string): Promise<void> {
  await (await openStore(setting, POOL)).close();
}

/**
 * Copies a SQLite database with 100,000 zones into `folder`. The first call in a run creates this
 * database.
 */
export async function manyZones(folder: string): Promise<{ TSIGIL_DATABASE_URL: string }> {
  const original = join(runFolder(), 'zones.db');
  const path = join(folder, 'tsigil.db');
  if (!existsSync(original)) {
    await createSchema(`sqlite:${path}`);
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA synchronous = OFF; ${FILL}; PRAGMA wal_checkpoint(TRUNCATE)`);
    database.close();
    renameSync(path, original);
  }
  copyFileSync(original, path);
  return { TSIGIL_DATABASE_URL: `sqlite:${path}` };
}

/** Creates a PostgreSQL database with 100,000 zones, named after `folder`. */
export async function manyZonesOnPostgres(
  folder: string,
): Promise<{ TSIGIL_DATABASE_URL: string }> {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', basename(folder));
  await createSchema(url);
  await queryPostgres(url, `${FILL}; ANALYZE zones`);
  return { TSIGIL_DATABASE_URL: url };
}

/** The number of records of a long audit trail. */
const RECORDS = 200_000;

/** Creates an audit trail with 200,000 records, in a SQLite database in `folder`. */
export async function longTrail(folder: string): Promise<{ TSIGIL_DATABASE_URL: string }> {
  const original = join(runFolder(), 'trail.db');
  const path = join(folder, 'tsigil.db');
  if (!existsSync(original)) {
    await withDatabase(`sqlite:${path}`, (database) => seed(database, RECORDS, 2000));
    renameSync(path, original);
  }
  copyFileSync(original, path);
  return { TSIGIL_DATABASE_URL: `sqlite:${path}` };
}

/** Creates an audit trail with 200,000 records, in a PostgreSQL database named after `folder`. */
export async function longTrailOnPostgres(
  folder: string,
): Promise<{ TSIGIL_DATABASE_URL: string }> {
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', basename(folder));
  await withDatabase(url, (database) => seed(database, RECORDS, 2000));
  return { TSIGIL_DATABASE_URL: url };
}
