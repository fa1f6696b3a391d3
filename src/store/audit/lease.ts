import type { Dialect, Sql } from '../sql/sql.ts';

/** The exclusive right of one process to run a job. */
export interface Lease {
  readonly name: string;
  /** The id of this process. */
  readonly holder: string;
  /** How long a claim lasts, unless the holder renews it. */
  readonly milliseconds: number;
}

/**
 * Claims or renews a lease with the clock of the database. Returns false if another process holds
 * the lease. Until the transaction of `sql` ends, no other process can claim the lease. The column
 * `fence` counts how often the holder changed.
 */
export async function claimLease(
  sql: Sql,
  { nowMs }: Pick<Dialect, 'nowMs'>,
  { name, holder, milliseconds }: Lease,
): Promise<boolean> {
  const claimed = await sql.run(
    `INSERT INTO leases (name, holder, until, fence) VALUES (?, ?, ${nowMs} + ${milliseconds}, 1)
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until,
        fence = CASE WHEN leases.holder = excluded.holder THEN leases.fence ELSE leases.fence + 1 END
      WHERE leases.holder = excluded.holder OR leases.until < ${nowMs}`,
    [name, holder],
  );
  return claimed > 0;
}

/** Returns whether another process holds a lease. Locks nothing. */
export async function isHeldElsewhere(
  sql: Sql,
  { nowMs }: Pick<Dialect, 'nowMs'>,
  { name, holder }: Lease,
): Promise<boolean> {
  const row = await sql.one(
    `SELECT holder FROM leases WHERE name = ? AND holder <> ? AND until >= ${nowMs}`,
    [name, holder],
  );
  return row !== undefined;
}

/** Releases a lease, if this process holds it. */
export async function releaseLease(sql: Sql, { name, holder }: Lease): Promise<void> {
  await sql.run('UPDATE leases SET until = 0 WHERE name = ? AND holder = ?', [name, holder]);
}
