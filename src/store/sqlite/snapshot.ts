import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Sql } from '../sql/sql.ts';
import { retrying } from './connection/busy.ts';
import { sqlOn } from './connection/statements.ts';

/**
 * Creates reads on `connection` that share a snapshot, so that each read needs no locks. No other
 * process writes, so the snapshot stays current until this process commits. `end` releases the
 * snapshot; the next read begins a new snapshot. Call `end` before every commit, so that the commit
 * can also run a checkpoint.
 */
export function sharedSnapshot(
  connection: DatabaseSyncInstance,
  path: string,
): { reads: Sql; end(): void } {
  const end = () => {
    if (connection.isTransaction) connection.exec('ROLLBACK');
  };
  const inSnapshot = <T>(read: () => T): T => {
    try {
      if (!connection.isTransaction) connection.exec('BEGIN');
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
