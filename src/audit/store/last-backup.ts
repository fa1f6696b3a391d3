import type { BackupState } from '../trail.ts';
import { readMark } from '../../sql/marks.ts';
import type { Sql } from '../../sql/sql.ts';

/** Returns what is known of backups, which records that were purged no longer show. */
export async function readBackupState(sql: Sql): Promise<BackupState> {
  const last = await readMark(sql, 'backup');
  const origin = await readMark(sql, 'origin');
  const restored = await readMark(sql, 'restored');
  return {
    last_at: last?.at ?? null,
    restored:
      restored === undefined
        ? null
        : { from: restored.other, backup_at: origin?.at ?? null, at: restored.at },
  };
}
