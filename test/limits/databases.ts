import { copyFileSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { openStore } from '../harness/dependencies.ts';
import { runFolder } from '../harness/evidence.ts';
import { seed, withDatabase } from '../harness/trail.ts';
import { zonesBySql } from '../harness/zones.ts';

/** The project that owns the zones of these databases. */
export const PROJECT = 'crowd';

/** The number of zones in these databases. */
const ZONES = 100_000;

const POOL = { maxConnections: 1, statementTimeoutSeconds: 60 };

/** The slowest name for pattern matching: a long name that repeats one letter. */
const NAME = `${'a'.repeat(40)}.${'a'.repeat(40)}.zone-nnnnnn.example.`;

const FILL = zonesBySql(ZONES, NAME, PROJECT);

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
