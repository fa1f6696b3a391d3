import type { BackupState } from '../../domain/audit/trail.ts';
import type { Database, Sql } from '../sql/sql.ts';

const write = (role: string) => `INSERT INTO copies (role, other, at) VALUES ('${role}', ?, ?)
  ON CONFLICT (role) DO UPDATE SET other = excluded.other, at = excluded.at`;

/** Inserts or replaces the time of the last backup. Its parameters are the empty text and the time. */
export const WRITE_LAST_BACKUP = write('backup');

/** Says in a backup when it was written. Its parameters are the empty text and the time. */
export const WRITE_ORIGIN = write('origin');

/** Says in a restored database which backup was restored, and when. */
export async function noteRestored(
  database: Pick<Database, 'write'>,
  backup: string,
  at: string,
): Promise<void> {
  await database.write(async (sql) => {
    await sql.run(write('restored'), [backup, at]);
  });
}

/** Returns what is known of backups, which records that were purged no longer show. */
export async function readBackupState(sql: Sql): Promise<BackupState> {
  const rows = await sql.all('SELECT role, other, at FROM copies', []);
  const [last, origin, restored] = ['backup', 'origin', 'restored'].map((role) =>
    rows.find((row) => row.role === role),
  );
  return {
    last_at: timeOf(last),
    restored:
      restored === undefined
        ? null
        : { from: String(restored.other), backup_at: timeOf(origin), at: String(restored.at) },
  };
}

function timeOf(row: { readonly at?: unknown } | undefined): string | null {
  return row === undefined ? null : String(row.at);
}
