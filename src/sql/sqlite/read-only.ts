import { DatabaseSync } from '@photostructure/sqlite';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ServiceError } from '../../core/errors.ts';
import type { Snapshot, SqlValue } from '../sql.ts';
import { retrying } from './connection/busy.ts';
import { dialect } from './connection/dialect.ts';
import { translate } from './connection/sqlite-faults.ts';
import { lockFileBeside } from './lock.ts';
import { sqlOn } from './connection/statements.ts';

/**
 * Opens the SQLite file at `location` read-only. Never creates or changes the file, and prevents a
 * service from opening the file until `close`. Throws `bad_request` if the file does not exist.
 * Throws `unavailable` if a service uses the file, or if the file cannot be read.
 */
export async function openSqliteSnapshot(location: string): Promise<Snapshot> {
  const name = resolve(location);
  if (statSync(name, { throwIfNoEntry: false })?.isFile() !== true)
    throw new ServiceError(
      'bad_request',
      `Database file '${name}' does not exist. Check the path.`,
    );
  const path = realpathSync(name);
  // A service creates this lock file and never removes it. If the lock file is missing, as for a
  // backup, no service has opened the database.
  return readSnapshot(path, existsSync(`${path}-lock`) ? [lockFileBeside(path)] : []);
}

/**
 * Opens the SQLite file at `path` read-only, without its lock. `connections` are closed with it.
 * Throws `unavailable` if the file cannot be read.
 */
export async function readSnapshot(
  path: string,
  connections: { close(): void }[] = [],
): Promise<Snapshot> {
  const isServed = connections.length > 0;
  const close = async () => {
    for (const connection of connections.splice(0).reverse()) connection.close();
  };
  try {
    const connection = new DatabaseSync(path, { readOnly: true });
    // The driver keeps a closed connection, and the snapshot that blocks checkpoints, until its
    // statements are garbage-collected.
    const endSnapshot = () => {
      if (connection.isTransaction) connection.exec('ROLLBACK');
    };
    connections.push(connection, { close: endSnapshot });
    connection.exec('PRAGMA busy_timeout = 0; PRAGMA temp_store = MEMORY; BEGIN');
    const reads = sqlOn(connection, retrying(path));
    // begins the snapshot, and fails if the file is not a database
    await reads.one(dialect.tableExists, ['schema_migrations']);
    const change = async (statement: string, parameters: readonly SqlValue[]) => {
      if (!isServed) return;
      connections.pop()?.close();
      const writer = new DatabaseSync(path);
      connections.push(writer);
      await sqlOn(writer, retrying(path)).run(statement, parameters);
    };
    return { dialect, reads, change, close };
  } catch (error) {
    await close();
    throw translate(error, path);
  }
}
