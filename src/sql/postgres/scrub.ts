import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '../../core/errors.ts';
import type { Sql } from '../sql.ts';

const WAIT_MS = 120_000;
const POLL_MS = 50;

/**
 * Counts transactions, connections and replication slots that may still read row versions that
 * transaction `?` or an earlier transaction replaced.
 */
const OLDER = `
  WITH newest AS (SELECT ?::bigint AS id),
    horizon AS (SELECT age(mod(id, 4294967296)::text::xid) AS age FROM newest)
  SELECT
    (SELECT (txid_snapshot_xmin(txid_current_snapshot()) <= id)::int FROM newest)
    + (SELECT count(*) FROM pg_stat_activity, horizon
        WHERE pid <> pg_backend_pid() AND age(backend_xmin) >= horizon.age
          AND (datname = current_database() OR backend_type = 'walsender'))
    + (SELECT count(*) FROM pg_replication_slots, horizon
        WHERE greatest(age(xmin), age(catalog_xmin)) >= horizon.age) AS count`;

/**
 * Rewrites the files of `tables` and of PostgreSQL's statistics without former row versions. Waits
 * up to `waitMs` for earlier transactions, because a rewrite copies every row version that an
 * earlier transaction may still read. Locks each table while PostgreSQL rewrites the table. Throws
 * `unavailable` if the transactions do not end in time.
 */
export async function scrub(sql: Sql, tables: readonly string[], waitMs = WAIT_MS): Promise<void> {
  await waitForEarlierTransactions(sql, waitMs);
  // Each table needs its own statement, because VACUUM cannot run in a transaction.
  for (const table of tables) await sql.run(`VACUUM (FULL, ANALYZE) ${table}`, []);
  // Former rows of the column statistics contain samples of former values. ANALYZE has replaced
  // these rows.
  await waitForEarlierTransactions(sql, waitMs);
  await sql.run('VACUUM FULL pg_catalog.pg_statistic', []);
}

async function waitForEarlierTransactions(sql: Sql, waitMs: number): Promise<void> {
  const newest = String((await sql.one('SELECT txid_current()::text AS id', []))?.['id']);
  const until = performance.now() + waitMs;
  while (Number((await sql.one(OLDER, [newest]))?.['count']) > 0) {
    if (performance.now() > until)
      throw new ServiceError(
        'unavailable',
        `Earlier transactions on the PostgreSQL server did not end within ${waitMs / 1000} s. Former secrets can remain until these transactions end. Find the transactions in pg_stat_activity, pg_prepared_xacts and pg_replication_slots. End them and repeat the command`,
      );
    await pause(POLL_MS);
  }
}
