import { DatabaseSync } from '@photostructure/sqlite';
import {
  closeSync,
  existsSync,
  linkSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ServiceError } from '../../core/errors.ts';
import { timestampOf } from '../../core/text/timestamps.ts';
import { codeOf } from '../../net/faults.ts';
import { syncPath } from '../../net/synced-file.ts';
import type { SqlRow, SqlValue } from '../sql.ts';
import { dialect } from './connection/dialect.ts';
import { translate } from './connection/sqlite-faults.ts';
import { WRITE_MARK } from '../marks.ts';

/** The error codes of a file system without hard links. */
export const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/**
 * Copies the database at `location` to the new file `target`, with mode 0600. The service may be
 * running. Writes the copy to a temporary folder beside `target`, and moves the copy once it is
 * complete and on disk. So a killed backup leaves no partial file at `target`. If the backup fails
 * or `signal` aborts, deletes the copy. Returns the ids of the master keys that the copy needs.
 * Throws `bad_request` if `target` exists, and `unavailable` if the database cannot be read. Also
 * throws Node's error if `target` cannot be created, and the reason of `signal` if `signal` aborts.
 */
export async function backUpSqlite(
  location: string,
  target: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const source = resolve(location);
  const path = resolve(target); // SQLite would interpret a relative name such as file:x.db as a URI
  if (existsSync(path)) throw targetExists(path);
  const folder = mkdtempSync(`${path}.partial-`);
  let masterKeys: readonly string[];
  try {
    const copy = join(folder, 'copy.db');
    closeSync(openSync(copy, 'wx', 0o600));
    const at = timestampOf(Date.now());
    copyInto(source, copy);
    writeOrigin(copy, at);
    // SQLite blocked the event loop during the copy. Node.js needs up to two turns to handle a
    // signal that arrived meanwhile.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resume) => setImmediate(resume));
    signal?.throwIfAborted();
    masterKeys = masterKeysOf(copy);
    syncPath(copy);
    publish(copy, path);
  } catch (error) {
    throw translate(error, source);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  syncPath(dirname(path));
  return masterKeys;
}

/** Copies also what is in the WAL, into the empty file `copy`. Throws SQLite's errors. */
export function copyInto(source: string, copy: string): void {
  const connection = new DatabaseSync(source, { readOnly: true });
  try {
    connection.exec(`PRAGMA busy_timeout = 5000; VACUUM INTO '${copy.replaceAll("'", "''")}'`);
  } finally {
    connection.close();
  }
}

/** Writes into a backup when it was written, which a restored database then knows. */
function writeOrigin(copy: string, at: string): void {
  const connection = new DatabaseSync(copy);
  try {
    if (connection.prepare(dialect.tableExists).get('copies') === undefined) return;
    for (const role of ['backup', 'origin']) connection.prepare(WRITE_MARK).run(role, '', at);
  } finally {
    connection.close();
  }
}

/** Returns an empty list for a schema without encryption. */
function masterKeysOf(path: string): readonly string[] {
  const connection = new DatabaseSync(path, { readOnly: true });
  try {
    if (connection.prepare(dialect.tableExists).get('data_keys') === undefined) return [];
    const rows = connection.prepare('SELECT DISTINCT wrapped_by AS id FROM data_keys').all();
    return rows.map(({ id }: SqlRow) => String(id));
  } finally {
    connection.close();
  }
}

/** Uses a link, because a rename would replace an existing file. */
function publish(copy: string, path: string): void {
  try {
    linkSync(copy, path);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' || existsSync(path)) throw targetExists(path);
    if (!NO_LINKS.includes(code)) throw error;
    renameSync(copy, path);
  }
}

function targetExists(path: string): ServiceError {
  return new ServiceError(
    'bad_request',
    `The file already exists: '${path}'. Use the name of a new file`,
  );
}

/**
 * Runs statements in one transaction, beside a service that may be using the database. Does nothing
 * if the database lacks `table`. Throws SQLite's errors.
 */
export function runBeside(
  location: string,
  table: string,
  statements: readonly { readonly text: string; readonly parameters: readonly SqlValue[] }[],
): void {
  const connection = new DatabaseSync(resolve(location));
  try {
    connection.exec('PRAGMA busy_timeout = 5000');
    if (connection.prepare(dialect.tableExists).get(table) === undefined) return;
    connection.exec('BEGIN IMMEDIATE');
    for (const { text, parameters } of statements) connection.prepare(text).run(...parameters);
    connection.exec('COMMIT');
  } finally {
    connection.close();
  }
}
