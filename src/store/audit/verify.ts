import { macText, NO_PREVIOUS, type AuditBatch } from '../../domain/audit/chain.ts';
import type {
  TrailProblem,
  TrailVerification,
  VerificationStep,
} from '../../domain/audit/trail.ts';
import { earlier } from '../../domain/text/timestamps.ts';
import { newSlicer } from '../sql/reader.ts';
import type { Sql } from '../sql/sql.ts';
import { SELECT_BATCHES, storedBatch } from './batches.ts';
import { hashRecords, MAX_RECORDS, nextBatches, type FoundBatch } from './hash-records.ts';

/** The number of records that one statement reads. */
const STRAYS_PER_READ = 5000;

/** The time within which the service seals records. */
const SEAL_MS = 60_000;

/** How long retention may take to delete the records of a batch that it marked as purged. */
const PURGE_MS = 3_600_000;

/** The dependencies of a verification. */
export interface TrailSource {
  readonly sql: Sql;
  /** Returns the audit key with this number, or undefined if it was lost. */
  auditKey(number: number): { hmac(text: string): string } | undefined;
  /** Returns the current time as a timestamp of the API. */
  now(): string;
}

type Counts = Omit<TrailVerification, 'next'>;

const NOTHING: Counts = {
  batches: 0,
  records: 0,
  purged: 0,
  withoutMac: 0,
  unchecked: 0,
  problems: [],
};

/** Verifies the part of the audit trail that `step` names. */
export async function verifyTrail(
  source: TrailSource,
  step: VerificationStep,
): Promise<TrailVerification> {
  return step.part === 'batches' ? verifyBatches(source, step) : verifyRecords(source, step);
}

/** Verifies the links, records, hashes and MACs of the batches after batch number `after`. */
async function verifyBatches(
  { sql, auditKey }: TrailSource,
  { after, macSeen }: VerificationStep,
): Promise<TrailVerification> {
  // Read the head first, because other processes may seal further batches during the verification.
  const head = await sql.one('SELECT number, hash FROM audit_head WHERE id = 1', []);
  const batches = await nextBatches(sql, after);
  const [known] =
    after === 0 ? [] : (await sql.all(`${SELECT_BATCHES}number = ?`, [after])).map(storedBatch);
  const hashes = await hashRecords(sql, batches);
  const problems: TrailProblem[] = [];
  const counts = { ...NOTHING, batches: batches.length };
  let previous = known?.hash ?? NO_PREVIOUS;
  let expected = after + 1;
  let hasMac = macSeen;
  for (const batch of batches) {
    const { number } = batch;
    const note = (problem: string) => problems.push({ batch: number, problem });
    if (number !== expected)
      problems.push({ batch: expected, problem: missing(expected, number - 1) });
    else if (batch.previous !== previous)
      note('The previous hash is not the hash of the preceding batch.');
    const found = hashes.get(number);
    if (batch.purged_at !== null || (isWrong(batch, found) && (await isPurged(sql, number))))
      counts.purged += 1;
    else {
      counts.records += found?.count ?? 0;
      if (found === undefined || found.count !== batch.count)
        note(`The batch has ${found?.count ?? 0} records instead of ${batch.count}.`);
      else if (found.hash.end !== batch.hash) note('The hash does not match the records.');
    }
    const key = batch.key_number === null ? undefined : auditKey(batch.key_number);
    if (batch.mac === null) {
      counts.withoutMac += 1;
      if (hasMac) note('The batch has no MAC, although earlier batches have a MAC.');
    } else if (key === undefined) counts.unchecked += 1;
    else if (key.hmac(macText(batch)) !== batch.mac) note('The MAC is wrong.');
    if (batch.mac !== null) hasMac = true;
    if (Number(head?.number) === number && head?.hash !== batch.hash)
      note('The hash differs from the hash that is stored as the end of the chain.');
    previous = batch.hash;
    expected = number + 1;
  }
  if (batches.length > 0)
    return {
      ...counts,
      problems,
      next: { part: 'batches', after: expected - 1, macSeen: hasMac },
    };
  const sealed = Number(head?.number ?? 0);
  if (sealed >= expected) problems.push({ batch: expected, problem: missing(expected, sealed) });
  if (head === undefined && after > 0)
    problems.push({ batch: after, problem: 'The end of the chain is missing.' });
  return { ...counts, problems, next: { part: 'records', after: 0, macSeen } };
}

function missing(first: number, last: number): string {
  return first === last
    ? 'The batch is missing.'
    : `The batch and all batches up to ${last} are missing.`;
}

function isWrong({ count, hash }: AuditBatch, found: FoundBatch | undefined): boolean {
  return found?.count !== count || found.hash.end !== hash;
}

/** Returns whether retention has deleted the records of a batch in the meantime. */
async function isPurged(sql: Sql, number: number): Promise<boolean> {
  const row = await sql.one('SELECT purged_at FROM audit_batches WHERE number = ?', [number]);
  return row !== undefined && row.purged_at !== null;
}

/**
 * Searches the records whose `seq` is above `after` for records that are not part of the batch they
 * name. At the end of the trail, checks that new records are being sealed.
 */
async function verifyRecords(
  { sql, now }: TrailSource,
  { after, macSeen }: VerificationStep,
): Promise<TrailVerification> {
  const slicer = newSlicer();
  const problems: TrailProblem[] = [];
  let position = after;
  for (let read = 0; read < MAX_RECORDS; read += STRAYS_PER_READ) {
    if (slicer.isOver()) await slicer.next();
    const part = 'SELECT seq, batch FROM audit_records WHERE seq > ? ORDER BY seq LIMIT ?';
    const last = await sql.one(`SELECT max(seq) AS seq FROM (${part}) AS part`, [
      position,
      STRAYS_PER_READ,
    ]);
    if (last?.seq == null) {
      problems.push(...(await lateRecords(sql, now())));
      return { ...NOTHING, problems, next: undefined };
    }
    const stray = await sql.one(
      `SELECT part.seq AS seq, part.batch AS batch FROM (${part}) AS part LEFT JOIN audit_batches ON number = batch WHERE batch IS NOT NULL AND (number IS NULL OR seq < first_seq OR seq > last_seq OR purged_at < ?) ORDER BY seq LIMIT 1`,
      [position, STRAYS_PER_READ, earlier(now(), PURGE_MS)],
    );
    if (stray !== undefined)
      problems.push({
        batch: Number(stray.batch),
        problem: `Record ${Number(stray.seq)} names this batch, but is not part of it.`,
      });
    position = Number(last.seq);
  }
  return { ...NOTHING, problems, next: { part: 'records', after: position, macSeen } };
}

/** Returns a problem if a record is still unsealed after `SEAL_MS`. */
async function lateRecords(sql: Sql, now: string): Promise<TrailProblem[]> {
  const first = await sql.one(
    'SELECT at FROM audit_records WHERE batch IS NULL ORDER BY seq LIMIT 1',
    [],
  );
  if (first === undefined || String(first.at) >= earlier(now, SEAL_MS)) return [];
  const row = await sql.one('SELECT count(*) AS count FROM audit_records WHERE batch IS NULL', []);
  return [
    {
      batch: null,
      problem: `Unsealed records: ${Number(row?.count)}, the oldest from ${String(first.at)}. The service seals records within ${SEAL_MS / 1000} s.`,
    },
  ];
}
