import { isObject } from '../../core/field.ts';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { randomInt } from 'node:crypto';
import { ServiceError } from '../../core/errors.ts';
import { retryWhileBusy } from './connection/busy.ts';
import { isBusy, isFull, translate } from './connection/sqlite-faults.ts';
import { identify } from './file-watch.ts';
import { preparePrivateFile } from './private-file.ts';

interface DatabaseLock {
  /**
   * Reads from the file with `connection`. Throws `unavailable` if another process has locked the
   * file after this process. Throws SQLite's error if the file is locked now.
   */
  confirm(connection: DatabaseSyncInstance): void;
  close(): void;
}

/**
 * Locks the existing database file at `path` against other processes, with two locks. The first
 * lock is on a file beside the database. This lock lasts until `close` or the exit of this process.
 * Of two processes that start concurrently, only one acquires this lock. The second lock is
 * SQLite's exclusive lock on the database file itself. SQLite grants this lock only while no other
 * connection is open. So the second lock also works with hard links, and after the lock file was
 * removed. The service releases the second lock before it opens the file, so that backups are
 * possible. Throws `unavailable` if another process uses the database. Waits at most 5 s for a
 * process that does not hold the first lock.
 */
export async function lockDatabase(path: string): Promise<DatabaseLock> {
  const guard = lockFileBeside(path);
  const key = fileKey(path);
  try {
    if (heldHere.get(key) === 'open') throw inUse(path);
    const mark = await writeMark(path, heldHere.has(key));
    heldHere.set(key, 'open');
    return {
      confirm(connection) {
        if (mark === undefined) return;
        const row: unknown = connection.prepare('PRAGMA user_version').get();
        if (!isObject(row) || row.user_version !== mark) throw inUse(path);
      },
      close() {
        heldHere.set(key, 'closed');
        guard.close();
      },
    };
  } catch (error) {
    guard.close();
    throw error;
  }
}

/**
 * The files that this process has opened. The driver does not release a closed connection and its
 * locks until its statements are garbage-collected. Without this map, the process could not open a
 * file a second time.
 */
const heldHere = new Map<string, 'open' | 'closed'>();

function fileKey(path: string): string {
  const { dev, ino } = identify(path) ?? {};
  return `${dev}:${ino}`;
}

/**
 * Acquires only the first lock. Closing the returned connection releases the lock. Throws
 * `unavailable` if another process uses the database.
 */
export function lockFileBeside(path: string): DatabaseSyncInstance {
  const guardPath = preparePrivateFile(`${path}-lock`);
  const guard = new DatabaseSync(guardPath);
  try {
    guard.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    guard.close();
    throw isBusy(error) ? inUse(path) : translate(error, guardPath);
  }
  return guard;
}

/**
 * Acquires the exclusive lock on the database file, writes a random mark to the file and releases
 * the lock. Before the service's connection reads the file, another process can acquire the lock
 * and replace the mark. If processes start concurrently, only the last process finds its mark.
 * Returns undefined if the file has no space for the mark.
 */
async function writeMark(path: string, hadOpen: boolean): Promise<number | undefined> {
  const mark = randomInt(1, 2 ** 31);
  try {
    return await (hadOpen
      ? tryWriteMark(path, mark)
      : retryWhileBusy(() => tryWriteMark(path, mark)));
  } catch (error) {
    if (!isBusy(error)) throw translate(error, path);
    if (hadOpen) return undefined;
    throw new ServiceError(
      'unavailable',
      `Another program has the database '${path}' open, perhaps under another name. End that service, backup or SQLite shell, then start this service again`,
      { cause: error },
    );
  }
}

/**
 * Throws SQLite's error if another connection has the file open. Opens a new connection for each
 * attempt, because a failed attempt keeps a shared lock.
 */
function tryWriteMark(path: string, mark: number): number | undefined {
  const connection = new DatabaseSync(path);
  try {
    connection.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    connection.exec(`PRAGMA user_version = ${mark}; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`);
    return mark;
  } catch (error) {
    if (isFull(error)) return undefined;
    throw error;
  } finally {
    connection.close();
  }
}

function inUse(path: string): ServiceError {
  return new ServiceError(
    'unavailable',
    `Another process is using the database '${path}'. Stop that process, or use a different database.`,
  );
}
