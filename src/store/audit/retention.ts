import type { AuditEntry } from '../../domain/audit/record.ts';
import { auditEntry, SERVICE } from '../../domain/operations/audit-entry.ts';
import { insertRecord } from '../sql/audit-records.ts';
import type { Sql } from '../sql/sql.ts';
import { claimLease } from './lease.ts';
import type { Sealer } from './seal.ts';

/** The maximum number of records that one transaction deletes. */
const MAX_DELETED = 1000;

/** A batch whose records retention deletes. */
interface Expired {
  readonly number: number;
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/**
 * Deletes at most 1,000 records of batches from before the timestamp `before`, in one transaction.
 * The first transaction marks a batch as purged, so that no reader mistakes the remaining records
 * for the whole batch. Records the deletion in the audit trail. Returns the new record; undefined
 * if nothing is left to delete, or if another process has the lease.
 */
export async function purgeExpired(
  { database, lease, now }: Omit<Sealer, 'keyring'>,
  before: string,
): Promise<AuditEntry | undefined> {
  const batches = await expiredBatches(database.reads, before);
  const [first, last] = [batches[0], batches.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  let entry: AuditEntry | undefined;
  await database.write(async (sql) => {
    entry = undefined;
    if (!(await claimLease(sql, database.dialect, lease))) return;
    const at = now();
    await sql.run(
      'UPDATE audit_batches SET purged_at = ? WHERE number >= ? AND number <= ? AND purged_at IS NULL',
      [at, first.number, last.number],
    );
    const records = await sql.run(
      `DELETE FROM audit_records WHERE seq IN (SELECT seq FROM audit_records
        WHERE batch >= ? AND batch <= ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ${MAX_DELETED})`,
      [
        first.number,
        last.number,
        Math.min(...batches.map((batch) => batch.first)),
        Math.max(...batches.map((batch) => batch.last)),
      ],
    );
    // Records that another program changed may match no batch. Returning undefined prevents an
    // endless loop.
    if (records === 0) return;
    entry = auditEntry(SERVICE, {
      at,
      action: 'audit:purge',
      detail: { records, first_batch: first.number, last_batch: last.number },
    });
    await insertRecord(sql, entry);
  });
  return entry;
}

/**
 * Returns the oldest batches from before a timestamp that have records, with about 1,000 records in
 * total.
 */
async function expiredBatches(sql: Sql, before: string): Promise<Expired[]> {
  // Records of one batch may be interleaved with records of the next batch.
  const oldest = await sql.one(
    'SELECT min(batch) AS number FROM (SELECT batch FROM audit_records ORDER BY seq LIMIT 2000) AS oldest',
    [],
  );
  if (typeof oldest?.number !== 'number') return [];
  const rows = await sql.all(
    `SELECT number, count, first_seq, last_seq FROM audit_batches WHERE number >= ? AND at < ? ORDER BY number LIMIT ${MAX_DELETED}`,
    [oldest.number, before],
  );
  const expired: Expired[] = [];
  let records = 0;
  for (const { number, count, first_seq: first, last_seq: last } of rows) {
    records += Number(count);
    if (expired.length > 0 && records > MAX_DELETED) break;
    expired.push({
      number: Number(number),
      count: Number(count),
      first: Number(first),
      last: Number(last),
    });
  }
  return expired;
}
