import { DatabaseSync } from '@photostructure/sqlite';
import { closeSync, openSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { translate } from './faults.ts';

/**
 * Copies the database at `location` into the new file `target`, whether the service runs or not, and leaves no file
 * behind when it fails. Throws `unavailable`, and Node's error when `target` exists or cannot be made.
 */
export function backUpSqlite(location: string, target: string): void {
  const source = resolve(location);
  closeSync(openSync(target, 'wx', 0o600));
  try {
    const connection = new DatabaseSync(source, { readOnly: true });
    try {
      connection.exec('PRAGMA busy_timeout = 5000');
      connection.prepare('VACUUM INTO ?').run(target);
    } finally {
      connection.close();
    }
  } catch (error) {
    rmSync(target, { force: true });
    throw translate(error, source);
  }
}
