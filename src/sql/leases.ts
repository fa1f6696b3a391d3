import type { JobLease } from '../core/scheduling/job.ts';
import type { Database, Sql } from './sql.ts';

/** The exclusive right of one process to do a job, by the clock of the database. */
export interface Lease extends JobLease {
  /**
   * Claims or renews the lease, and runs `work` in the same transaction, in which no other process
   * can claim it. Returns undefined without running `work` if another process holds it.
   */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T | undefined>;
}

/**
 * Returns the lease of a job. A claim lasts for `milliseconds`, unless the holder renews it. A claim
 * that ends later was never made here, and does not count: the row was changed, or the clock of the
 * database was set back.
 */
export function leaseOn(
  { dialect: { nowMs }, reads, write }: Pick<Database, 'dialect' | 'reads' | 'write'>,
  name: string,
  holder: string,
  milliseconds: number,
): Lease {
  const isOver = `NOT leases.until BETWEEN ${nowMs} AND ${nowMs} + ${milliseconds}`;
  return {
    write: (work) =>
      write(async (sql) => {
        const claimed = await sql.run(
          `INSERT INTO leases (name, holder, until) VALUES (?, ?, ${nowMs} + ${milliseconds})
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
            WHERE leases.holder = excluded.holder OR ${isOver}`,
          [name, holder],
        );
        return claimed > 0 ? work(sql) : undefined;
      }),
    async isHeldElsewhere() {
      const row = await reads.one(
        `SELECT holder FROM leases WHERE name = ? AND holder <> ? AND NOT ${isOver}`,
        [name, holder],
      );
      return row !== undefined;
    },
    release: () =>
      write(async (sql) => {
        await sql.run('UPDATE leases SET until = 0 WHERE name = ? AND holder = ?', [name, holder]);
      }),
  };
}
