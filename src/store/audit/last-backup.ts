import type { Sql } from '../sql/sql.ts';

/** Inserts or replaces the time of the last backup. Its parameter is the time. */
export const WRITE_LAST_BACKUP = `INSERT INTO copies (role, other, at) VALUES ('backup', '', ?)
  ON CONFLICT (role) DO UPDATE SET at = excluded.at`;

/** Returns the time of the last backup, which records that were purged no longer show. */
export async function readLastBackup(sql: Sql): Promise<string | null> {
  const row = await sql.one("SELECT at FROM copies WHERE role = 'backup'", []);
  return row === undefined ? null : String(row.at);
}
