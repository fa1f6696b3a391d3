import { DatabaseSync } from '@photostructure/sqlite';
import { resolve } from 'node:path';
import { localEntry } from '../audit/store/local.ts';
import { insertStatement } from '../audit/store/records.ts';
import { timestampOf } from '../core/text/timestamps.ts';
import { WRITE_MARK } from '../sql/marks.ts';
import { dialect } from '../sql/sqlite/connection/dialect.ts';

/**
 * Writes a record about a backup to the audit trail of the database at `location`. A service may be
 * using the database. Writes no record if the schema of the database has no audit trail yet. Throws
 * SQLite's errors.
 */
export function recordBackup(location: string): void {
  const connection = new DatabaseSync(resolve(location));
  try {
    connection.exec('PRAGMA busy_timeout = 5000');
    if (connection.prepare(dialect.tableExists).get('audit_records') === undefined) return;
    const at = timestampOf(Date.now());
    const { text, parameters } = insertStatement([localEntry({ at, action: 'database:backup' })]);
    connection.exec('BEGIN IMMEDIATE');
    connection.prepare(text).run(...parameters);
    connection.prepare(WRITE_MARK).run('backup', '', at);
    connection.exec('COMMIT');
  } finally {
    connection.close();
  }
}
