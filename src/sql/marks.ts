import type { Sql } from './sql.ts';

/**
 * What a database says of its copies: that it is the source of a finished copy or the target of an
 * unfinished one, when it was backed up, from when the backup is that was restored and by which
 * name, and which master key was copied.
 */
type Role = 'source' | 'target' | 'backup' | 'origin' | 'restored' | 'master-key';

interface Mark {
  /** The other database without its password, or the name of the backup or the key. */
  readonly other: string;
  readonly at: string;
}

/** Inserts or replaces a mark. Its parameters are the role and the members of the mark. */
export const WRITE_MARK = `INSERT INTO copies (role, other, at) VALUES (?, ?, ?)
  ON CONFLICT (role) DO UPDATE SET other = excluded.other, at = excluded.at`;

export const REMOVE_MARK = 'DELETE FROM copies WHERE role = ?';

export async function readMark(sql: Sql, role: Role): Promise<Mark | undefined> {
  const row = await sql.one('SELECT other, at FROM copies WHERE role = ?', [role]);
  return row === undefined ? undefined : { other: String(row.other), at: String(row.at) };
}
