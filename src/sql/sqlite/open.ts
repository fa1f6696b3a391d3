import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { resolve } from 'node:path';
import type { Database, DatabaseObserver, ServingSettings, Sql } from '../sql.ts';
import { retrying, retryWhileBusy } from './connection/busy.ts';
import { emptyWal, rewriteFile, walFitter } from './checkpoint.ts';
import { dialect } from './connection/dialect.ts';
import { addMatches } from './connection/patterns.ts';
import { translate } from './connection/sqlite-faults.ts';
import { sqlOn } from './connection/statements.ts';
import { startGroupCommit } from './group-commit.ts';
import { lockDatabase } from './lock.ts';
import { identify, watchFiles } from './file-watch.ts';
import { preparePrivateFile } from './private-file.ts';
import { createScanThread, startScanWorker } from './scans/scan-thread.ts';

const SCAN_SLOTS = { concurrency: 16, concurrencyPerOwner: 2 };

/**
 * Opens or creates the SQLite file at `location` for exclusive use by this process. Creates missing
 * folders. New files have mode 0600. Throws `unavailable` if another process uses the file, or if
 * the file cannot be used.
 */
export async function openSqlite(
  location: string,
  observer: DatabaseObserver,
  { scanTimeoutSeconds, keyring }: Pick<ServingSettings, 'scanTimeoutSeconds' | 'keyring'> = {
    scanTimeoutSeconds: 10,
  },
): Promise<Database> {
  const name = resolve(location);
  const path = preparePrivateFile(name);
  const file = identify(name);
  const lock = await lockDatabase(path);
  const open: { close(): void }[] = [lock];
  const connect = async (...pragmas: string[]) => {
    const connection = new DatabaseSync(path);
    open.push(connection);
    for (const pragma of [
      'busy_timeout = 0',
      'foreign_keys = ON',
      'temp_store = MEMORY',
      ...pragmas,
    ]) {
      await retryWhileBusy(() => connection.exec(`PRAGMA ${pragma}`));
    }
    return connection;
  };
  const disconnect = () => {
    for (const resource of open.splice(0).reverse()) resource.close();
  };
  try {
    // With secure_delete, SQLite overwrites deleted content, so that no old secret stays in the
    // file.
    const writer = await connect('journal_mode = WAL', 'synchronous = FULL', 'secure_delete = ON');
    const reader = await connect('query_only = ON');
    addMatches(reader);
    const { reads, end: endSnapshot } = sharedSnapshot(reader, path);
    // SQLite opens the files at the first read of each connection, and locks the database file
    // until the connection closes.
    await retryWhileBusy(() => lock.confirm(writer));
    await reads.one('SELECT 1 FROM sqlite_schema', []);
    const checkFiles = watchFiles(name, file, path, observer);
    checkFiles();
    const fitWal = walFitter(writer, path);
    const commits = startGroupCommit(writer, path, observer, {
      beforeCommit() {
        checkFiles();
        endSnapshot();
        fitWal();
      },
      afterCommit: checkFiles,
    });
    const start = () => {
      checkFiles();
      return startScanWorker(path);
    };
    const scans = createScanThread(start, undefined, keyring);
    return {
      dialect,
      keyring,
      exclusive: true,
      reads,
      scanSlots: { ...SCAN_SLOTS, timeoutSeconds: scanTimeoutSeconds },
      scan: scans.scan,
      write: commits.write,
      migrate: commits.write,
      async scrub() {
        endSnapshot();
        await rewriteFile(writer, path);
      },
      async ping() {
        checkFiles();
        endSnapshot(); // a program that ignores the lock may have written
        await reads.one('SELECT number FROM schema_migrations LIMIT 1', []);
      },
      async close() {
        await Promise.all([commits.close(), scans.close()]);
        if (open.length > 0) {
          endSnapshot();
          await emptyWal(writer);
        }
        disconnect();
      },
    };
  } catch (error) {
    disconnect();
    throw translate(error, path);
  }
}

/**
 * Creates reads on `connection` that share a snapshot, so that each read needs no locks. No other
 * process writes, so the snapshot stays current until this process commits. `end` releases the
 * snapshot; the next read begins a new snapshot. Call `end` before every commit, so that the commit
 * can also run a checkpoint.
 */
function sharedSnapshot(
  connection: DatabaseSyncInstance,
  path: string,
): { reads: Sql; end(): void } {
  let isCurrent = false; // cheaper to read than `isTransaction`
  const end = () => {
    isCurrent = false;
    if (connection.isTransaction) connection.exec('ROLLBACK');
  };
  const inSnapshot = <T>(read: () => T): T => {
    try {
      if (!isCurrent) connection.exec('BEGIN');
      isCurrent = true;
      return read();
    } catch (error) {
      end();
      connection.exec('PRAGMA shrink_memory'); // pages in memory hide what is wrong with the file
      throw error;
    }
  };
  const run = retrying(path);
  return { reads: sqlOn(connection, (read) => run(() => inSnapshot(read))), end };
}
