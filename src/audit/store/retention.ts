import { MAX_BATCH, type AuditBatch } from '../chain.ts';
import { auditEntry, SERVICE, type AuditEntry } from '../../core/audit-record.ts';
import { insertRecord } from './records.ts';
import { SELECT_BATCHES, storedBatch } from './batches.ts';
import { checkBatches } from './verify-batches.ts';
import { changeHead, isGenuine, readHead } from './head.ts';
import type { Sealer } from './seal.ts';

/**
 * Deletes the records of batches from before the timestamp `before`: whole batches, at most 2,000
 * records, in one transaction. Only the head says which batches are purged, so the transaction
 * also changes the head. Returns the record of the deletion; undefined if nothing is left to
 * delete, or if another process has the lease.
 *
 * Checks the batches first. Otherwise, another program could date a batch back and let the service
 * delete its records.
 */
export async function purgeExpired(
  { database, keyring, lease, now }: Sealer,
  before: string,
): Promise<AuditEntry | undefined> {
  const key = keyring?.auditKey();
  const head = await readHead(database.reads);
  if (!isGenuine(head, key)) return undefined; // the sealer repairs the head first
  const rows = await database.reads.all(
    `${SELECT_BATCHES}number > ? AND number <= ? ORDER BY number LIMIT ${MAX_BATCH}`,
    [head.purged, head.number],
  );
  const batches = expired(rows.map(storedBatch), before);
  const [first, last] = [batches[0], batches.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const { problems } = await checkBatches(database.reads, key, head, batches);
  return lease.write(async (sql) => {
    if ((await readHead(sql))?.purged !== head.purged) return undefined;
    const at = now();
    const records = await sql.run('DELETE FROM audit_records WHERE batch >= ? AND batch <= ?', [
      first.number,
      last.number,
    ]);
    await changeHead(
      sql,
      key,
      at,
      { purged: last.number },
      problems.length > 0 ? { event: 'purged_changed', batch: last.number } : undefined,
    );
    const detail = { records, first_batch: first.number, last_batch: last.number };
    const entry = auditEntry(SERVICE, { at, action: 'audit:purge', detail });
    await insertRecord(sql, entry);
    return entry;
  });
}

function expired(batches: readonly AuditBatch[], before: string): readonly AuditBatch[] {
  let records = 0;
  const end = batches.findIndex(({ at, count }, index) => {
    records += count;
    return at >= before || (index > 0 && records > MAX_BATCH);
  });
  return end === -1 ? batches : batches.slice(0, end);
}

/**
 * Records a change of the setting `audit.retentionDays`, because it decides which records the
 * service deletes. Returns the record, if there is one.
 */
export async function noteRetention({
  database,
  keyring,
  lease,
  now,
  retentionDays,
}: Sealer): Promise<AuditEntry | undefined> {
  const key = keyring?.auditKey();
  const days = retentionDays();
  const isUnchanged = (stored: number | null) => stored === null || stored === days;
  const head = await readHead(database.reads);
  if (!isGenuine(head, key) || isUnchanged(head.retention_days)) return undefined;
  return lease.write(async (sql) => {
    const at = now();
    await changeHead(sql, key, at, { retention_days: days });
    const detail = { days: [head.retention_days, days] };
    const entry = auditEntry(SERVICE, { at, action: 'audit:retention', detail });
    await insertRecord(sql, entry);
    return entry;
  });
}
