import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { randomInt } from 'node:crypto';
import { ServiceError } from '../../domain/model/errors.ts';
import { retryWhileBusy } from './connection/busy.ts';
import { isBusy, isFull, translate } from './connection/faults.ts';
import { identify } from './file-watch.ts';
import { preparePrivateFile } from './private-file.ts';

/** The right of this process to use a database file alone. */
export interface DatabaseLock {
  /** Reads from the file by `connection`, and throws `unavailable` if another process took the file before. Throws SQLite's error if it is locked. */
  confirm(connection: DatabaseSyncInstance): void;
  /** Lets other processes use the file. */
  close(): void;
}

/**
 * Keeps every other process off the database file at `path`, which exists. There are two locks. The first is on a file beside the
 * database: it lasts until `close` or the end of this process and decides between two starts at once. The second is
 * SQLite's exclusive lock on the database file itself, which no hard link and no removed lock file gets around: SQLite grants it only while
 * no other connection is open. It ends before the service opens the file, because backups must be possible. Throws `unavailable` if another
 * process uses the database, after a wait of at most 5 s if that process does not hold the first lock.
 */
export async function lockDatabase(path: string): Promise<DatabaseLock> {
  const guard = lockFileBeside(path);
  const key = fileKey(path);
  try {
    if (heldHere.get(key) === 'open') throw inUse(path);
    const mark = await claim(path, heldHere.has(key));
    heldHere.set(key, 'open');
    return {
      confirm(connection) {
        const { user_version: found } = connection.prepare('PRAGMA user_version').get() as { user_version: number };
        if (mark !== undefined && found !== mark) throw inUse(path);
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
 * The files that this process has had open. The driver keeps a closed connection half open, with its locks, until its statements are
 * collected as garbage. This process would therefore refuse itself a file that it opens again.
 */
const heldHere = new Map<string, 'open' | 'closed'>();

function fileKey(path: string): string {
  const { dev, ino } = identify(path) ?? {};
  return `${dev}:${ino}`;
}

/**
 * Takes the first of the two locks alone. Closing the returned connection releases it. Throws `unavailable` if another process uses the
 * database.
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
 * Takes the exclusive lock on the database file for a moment and writes a random mark into the file. Between the end of this lock and the
 * first read of the service's own connection, another process can take the lock too. That process replaces the mark, so
 * of all processes that start at once only the last to write its mark finds it again. Returns undefined where there is no room for the mark.
 */
async function claim(path: string, hadOpen: boolean): Promise<number | undefined> {
  const mark = randomInt(1, 2 ** 31);
  try {
    return await (hadOpen ? tryClaim(path, mark) : retryWhileBusy(() => tryClaim(path, mark)));
  } catch (error) {
    if (!isBusy(error)) throw translate(error, path);
    if (hadOpen) return undefined;
    throw new ServiceError(
      'unavailable',
      `Another program has the database '${path}' open, perhaps by another name. End that service, backup or SQLite shell, then start this one again`,
      { cause: error },
    );
  }
}

/** Throws SQLite's error if any other connection has the file open. The connection is new each time, because a refused one keeps a shared lock. */
function tryClaim(path: string, mark: number): number | undefined {
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
    `Another process is using the database ${path}: stop that one first, or give this one a database of its own`,
  );
}
