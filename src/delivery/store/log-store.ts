import type { Sql, SqlValue } from '../../sql/sql.ts';
import type { LogRecord } from '../log-protocol.ts';

/** What the database keeps of the logs of name servers, each by its id. */
export interface LogStore {
  /** `rowLock` keeps others from deleting a key meanwhile. */
  record(sql: Sql, rowLock: string, id: string, log: LogRecord): Promise<void>;
  /** Returns the names of the retired keys of a pool and of its zones, the last retired first. */
  retiredNames(reads: Sql, poolId: string): Promise<readonly string[]>;
  /** Returns all rows about a name server, as every database returns them. */
  rows(sql: Sql, id: string): Promise<readonly LogRow[]>;
  /** Replaces all rows about a name server. */
  putRows(sql: Sql, id: string, rows: readonly LogRow[]): Promise<void>;
}

export type LogRow = readonly [table: string, values: readonly SqlValue[]];
