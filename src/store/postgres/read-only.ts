import pg from 'pg';
import type { DatabaseSettings, Snapshot, SqlValue } from '../sql/sql.ts';
import { connectionOptions } from './connection.ts';
import { dialect } from './dialect.ts';
import { translate } from './faults.ts';
import { sqlOn } from './statements.ts';

/**
 * Opens the PostgreSQL database at `location` in one read-only transaction. A role with read access
 * is sufficient. Throws `unavailable` if the database cannot be reached.
 */
export async function openPostgresSnapshot(
  location: string,
  settings: DatabaseSettings,
): Promise<Snapshot> {
  const client = new pg.Client(connectionOptions(location, settings));
  client.on('error', () => undefined); // the next query reports a failed connection
  const reads = sqlOn((query) => client.query(query));
  try {
    await client.connect().catch((error: unknown) => {
      throw translate(error);
    });
    await reads.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', []);
  } catch (error) {
    await client.end();
    throw error;
  }
  const change = async (statement: string, parameters: readonly SqlValue[]) => {
    await reads.run('COMMIT', []);
    await reads.run(statement, parameters);
  };
  return { dialect, reads, change, close: () => client.end() };
}
