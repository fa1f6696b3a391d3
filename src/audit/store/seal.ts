import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  batchText,
  hashBatch,
  MAX_BATCH,
  NO_PREVIOUS,
  type AuditBatch,
  type ChainEnd,
  type TrailEventName,
} from '../chain.ts';
import {
  auditEntry,
  ENTRY_COLUMNS,
  SERVICE,
  type AuditEntry,
  type StoredRecord,
} from '../../core/audit-record.ts';
import type { AuditKey, Keyring } from '../../core/keyring.ts';
import { parts } from '../../core/scheduling/slicer.ts';
import { insertRecord } from './records.ts';
import type { Lease } from '../../sql/leases.ts';
import { places } from '../../sql/fragments.ts';
import type { Database, Sql, SqlRow } from '../../sql/sql.ts';
import { MAX_VALUES, SIZES } from '../../sql/table.ts';
import { changeHead, isGenuine, lastBatchOf, readHead, type StoredHead } from './head.ts';

export interface Sealer {
  readonly database: Database;
  readonly keyring: Keyring | undefined;
  readonly lease: Lease;
  /** The current time, as a timestamp of the API. */
  now(): string;
  retentionDays(): number;
}

interface Sealed extends ChainEnd {
  readonly count: number;
  /** The record of what another program did to the head. Undefined if it did nothing. */
  readonly repair: AuditEntry | undefined;
}

/** The number of records that one turn of the event loop reads and hashes, in about 2 ms. */
const STEP = 250;

const COLUMNS = ['seq', ...ENTRY_COLUMNS].join(', ');
// Another program can insert a record with any number. The service numbers records from 1.
const UNSEALED = `FROM audit_records WHERE batch IS NULL AND seq > ? AND seq <= ${Number.MAX_SAFE_INTEGER} ORDER BY seq`;
const READ = `SELECT ${COLUMNS} ${UNSEALED} LIMIT ${STEP}`;
const FIRST = `SELECT seq ${UNSEALED} LIMIT 1`;

/**
 * Seals up to 2,000 records in a batch. Writes the batch number of these records, and the hash and
 * the MAC of the batch. Records that are committed meanwhile belong to a later batch. Returns the
 * new end of the chain; undefined if there is no record, or if another process seals. `lastSealed`
 * is the number of the last batch that this process has seen.
 *
 * Another program may have deleted, changed or set back the head. The new batch then follows the
 * last batch in the database, and the head says for ever what was found.
 */
export async function sealBatch(
  { database, keyring, lease, now, retentionDays }: Sealer,
  lastSealed = 0,
): Promise<Sealed | undefined> {
  const { reads } = database;
  if ((await reads.one(FIRST, [0])) === undefined) return undefined;
  const key = keyring?.auditKey();
  const head = await readHead(reads);
  if (key === undefined && typeof head?.mac === 'string')
    throw new Error('This process lacks the key of the audit trail');
  const { number: last, hash: previous, event } = await continuation(reads, head, key, lastSealed);
  const [number, at] = [last + 1, now()];
  // Hash before the transaction, so that other writes need not wait. Unsealed records do not
  // change.
  const digest = hashBatch({ previous, number, at });
  const seqs: number[] = [];
  for (let rows: SqlRow[] = []; seqs.length < MAX_BATCH;) {
    rows = await reads.all(READ, [seqs.at(-1) ?? 0]);
    for (const row of rows) {
      digest.add(row as unknown as StoredRecord); // the migration defines these columns
      seqs.push(Number(row.seq));
    }
    if (rows.length < STEP) break;
    await nextTurn();
  }
  const [first, end] = [seqs[0], seqs.at(-1)];
  if (first === undefined || end === undefined) return undefined;
  const hash = digest.end();
  const batch = { number, at, count: seqs.length, first_seq: first, last_seq: end, previous, hash };
  const repair =
    event === undefined
      ? undefined
      : auditEntry(SERVICE, { at, action: 'audit:repair', detail: { last_batch: last, event } });
  const isSealed = await lease.write(async (sql) => {
    if (!isSame(await readHead(sql), head)) return false;
    await setBatch(sql, number, seqs);
    const mac = key?.hmac(batchText(batch)) ?? null;
    await insertBatch(sql, { ...batch, mac, key_number: key?.number ?? null });
    const days = isGenuine(head, key) ? head.retention_days : null;
    await changeHead(
      sql,
      key,
      at,
      { number, hash, retention_days: days ?? retentionDays() },
      event === 'head_set_back' ? { event, batch: last } : undefined,
    );
    if (repair !== undefined) await insertRecord(sql, repair);
    return true;
  });
  return isSealed === true ? { number, hash, count: seqs.length, repair } : undefined;
}

/** Returns the batch that the next batch follows, and what another program did to the head. */
async function continuation(
  sql: Sql,
  head: StoredHead | undefined,
  key: AuditKey | undefined,
  lastSealed: number,
): Promise<ChainEnd & { readonly event: TrailEventName | undefined }> {
  const last = (await lastBatchOf(sql)) ?? { number: 0, hash: NO_PREVIOUS };
  if (!isGenuine(head, key)) return { ...last, event: 'head_changed' };
  const { number, hash } = head;
  if (last.number > number) return { ...last, event: 'head_set_back' };
  return { number, hash, event: number < lastSealed ? 'head_set_back' : undefined };
}

function isSame(one: StoredHead | undefined, other: StoredHead | undefined): boolean {
  return one?.number === other?.number && one?.hash === other?.hash && one?.mac === other?.mac;
}

async function setBatch(sql: Sql, number: number, seqs: readonly number[]): Promise<void> {
  let changed = 0;
  for (const some of parts(seqs, MAX_VALUES)) {
    const size = SIZES.find((each) => each >= some.length) ?? MAX_VALUES;
    const padding = Array<number>(size - some.length).fill(some.at(-1) ?? -1);
    changed += await sql.run(
      `UPDATE audit_records SET batch = ? WHERE batch IS NULL AND seq IN (${places(size)})`,
      [number, ...some, ...padding],
    );
  }
  if (changed !== seqs.length)
    throw new Error(`${seqs.length - changed} records of the audit trail were changed meanwhile`);
}

async function insertBatch(sql: Sql, batch: AuditBatch): Promise<void> {
  const { number, at, count, first_seq, last_seq, previous, hash, mac, key_number } = batch;
  await sql.run(
    'INSERT INTO audit_batches (number, at, count, first_seq, last_seq, previous, hash, mac, key_number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    [number, at, count, first_seq, last_seq, previous, hash, mac, key_number],
  );
}
