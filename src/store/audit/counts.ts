import type { AuditEntry } from '../../domain/audit/record.ts';
import type { TallyChanges } from '../../domain/audit/tally.ts';
import { insertRecords } from '../sql/audit-records.ts';
import type { Sql } from '../sql/sql.ts';
import { among, MAX_VALUES } from '../sql/table.ts';

/** The maximum number of combined events that one statement writes. */
const LINES = 64;

const INSERT = 'INSERT INTO audit_counts (id, minute, entry) VALUES ';
const REPLACE = ' ON CONFLICT (id) DO UPDATE SET entry = excluded.entry';

/** Returns the minute of a timestamp. */
export function minuteOf(timestamp: string): string {
  return timestamp.slice(0, 16);
}

/**
 * Writes combined events. Stores events of the current minute in the table `audit_counts`, so that
 * a crash does not lose them. Stores events of earlier minutes as records.
 */
export async function writeCounts(
  sql: Sql,
  { current, finished }: Pick<TallyChanges, 'current' | 'finished'>,
): Promise<void> {
  for (let at = 0; at < current.length;) {
    // A statement writes 1 or 64 rows, so that only two statements are prepared.
    const some = current.slice(at, at + (current.length - at < LINES ? 1 : LINES));
    await sql.run(
      INSERT + some.map(() => '(?, ?, ?)').join(', ') + REPLACE,
      some.flatMap(({ id, entry }) => [id, minuteOf(entry.at), JSON.stringify(entry)]),
    );
    at += some.length;
  }
  const stored = finished.filter(({ isStored }) => isStored).map(({ id }) => id);
  await removeCounts(sql, stored);
  await insertRecords(
    sql,
    finished.map(({ entry }) => entry),
  );
}

/**
 * Converts combined events from before `minute` to records. The processes of these events must have
 * ended. Returns the records.
 */
export async function recoverCounts(sql: Sql, minute: string): Promise<AuditEntry[]> {
  const rows = await sql.all(
    `SELECT id, entry FROM audit_counts WHERE minute < ? ORDER BY minute, id LIMIT ${MAX_VALUES}`,
    [minute],
  );
  const entries = rows.map(({ entry }) => JSON.parse(String(entry)) as AuditEntry);
  await removeCounts(
    sql,
    rows.map(({ id }) => String(id)),
  );
  await insertRecords(sql, entries);
  return entries;
}

async function removeCounts(sql: Sql, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += MAX_VALUES) {
    const { text, parameters } = among(
      'DELETE FROM audit_counts',
      'id',
      ids.slice(at, at + MAX_VALUES),
    );
    await sql.run(text, parameters);
  }
}
