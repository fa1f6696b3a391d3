import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Sql } from '../sql/sql.ts';
import { retrying } from './connection/busy.ts';
import { sqlOn } from './connection/statements.ts';

/**
 * Reads on `connection` that share a snapshot, which saves each of them locks of its own: as no other process writes, what was
 * committed stays as it is until this one commits. `end` releases the snapshot, and the next read takes a new one. It has to be
 * called before every commit, which can then empty the WAL as well.
 */
export function sharedSnapshot(connection: DatabaseSyncInstance, path: string): { reads: Sql; end(): void } {
  const end = () => {
    if (connection.isTransaction) connection.exec('ROLLBACK');
  };
  const inSnapshot = <T>(read: () => T): T => {
    try {
      if (!connection.isTransaction) connection.exec('BEGIN');
      return read();
    } catch (error) {
      end();
      throw error;
    }
  };
  const run = retrying(path);
  return { reads: sqlOn(connection, (read) => run(() => inSnapshot(read))), end };
}
