import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  hashBatch,
  macText,
  MAX_BATCH,
  NO_PREVIOUS,
  type AuditBatch,
} from '../../domain/audit/chain.ts';
import { ENTRY_COLUMNS, type AuditEntry, type StoredRecord } from '../../domain/audit/record.ts';
import type { Keyring } from '../../domain/encryption/keyring.ts';
import { auditEntry, SERVICE } from '../../domain/operations/audit-entry.ts';
import { insertRecord } from '../sql/audit-records.ts';
import type { Database, Sql, SqlRow } from '../sql/sql.ts';
import { MAX_VALUES, SIZES } from '../sql/table.ts';
import { claimLease, isHeldElsewhere, type Lease } from './lease.ts';

/** The dependencies of sealing. */
export interface Sealer {
  readonly database: Database;
  readonly keyring: Keyring | undefined;
  readonly lease: Lease;
  /** The current time, as a timestamp of the API. */
  now(): string;
}

/** The end of the hash chain. */
export interface Head {
  readonly number: number;
  readonly hash: string;
}

/** A new end of the chain. */
export interface Sealed extends Head {
  /** The number of records in the batch. */
  readonly count: number;
  /** The record of the loss of the end of the chain. Undefined if nothing was lost. */
  readonly repair: AuditEntry | undefined;
}

/**
 * The number of records that one turn of the event loop reads and hashes. This takes about 2 ms.
 */
const STEP = 250;

const COLUMNS = ['seq', ...ENTRY_COLUMNS].join(', ');
const READ = `SELECT ${COLUMNS} FROM audit_records WHERE batch IS NULL AND seq > ? ORDER BY seq LIMIT ${STEP}`;
const FIRST = 'SELECT seq FROM audit_records WHERE batch IS NULL ORDER BY seq LIMIT 1';

/**
 * Seals up to 2,000 records in a batch. Writes the batch number of these records, and the hash and
 * the MAC of the batch. Records that are committed meanwhile belong to a later batch. Returns the
 * new end of the chain; undefined if there is no record, or if another process seals.
 *
 * Another program may have deleted the end of the chain, or set it back to an earlier batch. In
 * this case, the new batch follows the last batch in the database. The trail also gets a record of
 * this event.
 */
export async function sealBatch({
  database,
  keyring,
  lease,
  now,
}: Sealer): Promise<Sealed | undefined> {
  const { reads, dialect } = database;
  if ((await reads.one(FIRST, [])) === undefined) return undefined;
  if (await isHeldElsewhere(reads, dialect, lease)) return undefined;
  const { number: last, hash: previous, isLost } = await readHead(reads);
  const [number, at] = [last + 1, now()];
  // Hash before the transaction, so that other writes need not wait. Unsealed records do not
  // change.
  const digest = hashBatch({ previous, number, at });
  const seqs: number[] = [];
  for (let rows: SqlRow[] = []; seqs.length < MAX_BATCH;) {
    rows = await reads.all(READ, [seqs.at(-1) ?? -1]);
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
  const key = keyring?.auditKey();
  const batch: AuditBatch = {
    number,
    at,
    count: seqs.length,
    first_seq: first,
    last_seq: end,
    previous,
    hash,
    mac: key?.hmac(macText({ number, hash })) ?? null,
    key_number: key?.number ?? null,
    purged_at: null,
  };
  const repair = isLost
    ? auditEntry(SERVICE, { at, action: 'audit:repair', detail: { last_batch: last } })
    : undefined;
  const isSealed = await database.write(async (sql) => {
    if (!(await claimLease(sql, dialect, lease))) return false;
    if ((await readHead(sql)).number !== last) return false;
    await setBatch(sql, number, seqs);
    await insertBatch(sql, batch);
    if (repair !== undefined) await insertRecord(sql, repair);
    return true;
  });
  return isSealed ? { number, hash, count: seqs.length, repair } : undefined;
}

/**
 * Returns the end of the chain; number 0 before the first batch. `isLost` is true if the database
 * has batches after the stored end. In this case, the last batch is the end.
 */
export async function readHead(sql: Sql): Promise<Head & { readonly isLost: boolean }> {
  const stored = await sql.one('SELECT number, hash FROM audit_head WHERE id = 1', []);
  const last = await sql.one(
    'SELECT number, hash FROM audit_batches ORDER BY number DESC LIMIT 1',
    [],
  );
  const isLost = last !== undefined && Number(last.number) > Number(stored?.number ?? 0);
  const row = isLost ? last : stored;
  return row === undefined
    ? { number: 0, hash: NO_PREVIOUS, isLost }
    : { number: Number(row.number), hash: String(row.hash), isLost };
}

async function setBatch(sql: Sql, number: number, seqs: readonly number[]): Promise<void> {
  let changed = 0;
  for (let at = 0; at < seqs.length; at += MAX_VALUES) {
    const some = seqs.slice(at, at + MAX_VALUES);
    const size = SIZES.find((each) => each >= some.length) ?? MAX_VALUES;
    const padding = Array<number>(size - some.length).fill(some.at(-1) ?? -1);
    changed += await sql.run(
      `UPDATE audit_records SET batch = ? WHERE batch IS NULL AND seq IN (${Array(size).fill('?').join(', ')})`,
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
  await sql.run(
    `INSERT INTO audit_head (id, number, hash, mac, key_number) VALUES (1, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash,
        mac = excluded.mac, key_number = excluded.key_number`,
    [number, hash, mac, key_number],
  );
}
