import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../scripts/bundle.mjs';
import { ROOT, temporaryFolder } from './service.mjs';

/**
 * The modules of src that benchmarks import. The built program does not contain these modules as
 * separate files.
 */
const MODULES = [
  'core/master-key',
  'core/query',
  'resources/tld',
  'resources/tsigkey',
  'database/open-database',
  'secrets/store/create-keyring',
];

let built;

/** Imports one of `MODULES`. The first import builds all modules. */
export async function source(path) {
  built ??= buildModules();
  return import(join(await built, `${path}.js`));
}

async function buildModules() {
  const folder = temporaryFolder();
  for (const name of ['node_modules', 'package.json'])
    symlinkSync(join(ROOT, name), join(folder, name));
  await bundle(ROOT, join(folder, 'dist'), MODULES);
  return join(folder, 'dist');
}

/** The settings of a database that a benchmark opens itself. */
export const POOL = { maxConnections: 10, statementTimeoutSeconds: 60 };

/** Returns a row for the table `tlds`. `number` determines its name and creation time. */
export function tldRow(number) {
  const created = new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString().slice(0, 19);
  return {
    id: randomUUID(),
    name: tldName(number),
    description: 'A benchmark entry',
    created_at: `${created}.000000`,
    updated_at: null,
  };
}

/** Returns the name of the TLD entry with this number. */
export function tldName(number) {
  return `tld-${String(number).padStart(6, '0')}`;
}

/**
 * Writes `count` TLD entries to the database with the URL `setting`, through the service's store.
 * Returns the entries.
 */
export async function fill(setting, count) {
  const [{ openDatabase }, { tld }, { keyed }] = await Promise.all([
    source('database/open-database'),
    source('resources/tld'),
    source('core/query'),
  ]);
  const rows = Array.from({ length: count }, (_, number) => tldRow(number));
  const { store } = await openDatabase(setting, POOL, () => new Date().toISOString().slice(0, -1));
  try {
    await store.write(async (writer) => {
      for (const row of rows) await writer.insert(tld, keyed(tld, row));
    });
  } finally {
    await store.close();
  }
  return rows;
}

const folder = temporaryFolder();
const filled = new Map();

/**
 * Creates a SQLite database with `count` TLD entries. Returns its path, its URL and the entries.
 * The first call with a count fills a database. Every call with this count copies the database.
 */
export async function databaseWith(count) {
  const original = join(folder, `${count}.db`);
  if (!existsSync(original)) filled.set(count, await fill(`sqlite:${original}`, count));
  const path = join(temporaryFolder(), 'tsigil.db');
  copyFileSync(original, path);
  return { path, setting: `sqlite:${path}`, rows: filled.get(count) };
}
