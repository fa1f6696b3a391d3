import { localEntry } from '../audit/store/record-command.ts';
import { insertStatement } from '../audit/store/records.ts';
import { timestampOf } from '../core/text/timestamps.ts';
import { WRITE_MARK } from '../sql/marks.ts';
import { runBeside } from '../sql/sqlite/backup.ts';

/**
 * Writes a record about a backup to the audit trail of the database at `location`. A service may be
 * using the database. Writes no record if the schema of the database has no audit trail yet. Throws
 * SQLite's errors.
 */
export function recordBackup(location: string): void {
  const at = timestampOf(Date.now());
  runBeside(location, 'audit_records', [
    insertStatement([localEntry({ at, action: 'database:backup' })]),
    { text: WRITE_MARK, parameters: ['backup', '', at] },
  ]);
}
