import { batchText, hashBatch, type AuditBatch, type BatchHash, type TrailHead } from '../chain.ts';
import type { TrailProblem, TrailVerification } from '../responses.ts';
import type { AuditKey } from '../../core/keyring.ts';
import { newSlicer } from '../../net/slices.ts';
import { joined, type Fragment } from '../../sql/fragments.ts';
import type { Sql } from '../../sql/sql.ts';
import { rangeOf } from './batches.ts';
import { isGenuine, readHead } from './head.ts';
import { IN_BATCHES, SELECT_RECORDS, storedRecord } from './read.ts';

const RECORDS_PER_READ = 500;

/** What the database contains for a batch. */
interface FoundBatch {
  count: number;
  first: number;
  last: number;
  readonly hash: BatchHash;
}

/** Checks records, hashes and MACs. `head` is what may be believed about the trail. */
export async function checkBatches(
  sql: Sql,
  key: AuditKey | undefined,
  head: Pick<TrailHead, 'first_mac' | 'purged'>,
  batches: readonly AuditBatch[],
): Promise<TrailVerification> {
  const present = batches.filter(({ number }) => number > head.purged);
  const found = await readBatchRecords(sql, present);
  const problems: TrailProblem[] = [];
  let [records, purged, withoutMac, unchecked] = [0, 0, 0, 0];
  for (const batch of batches) {
    const { number, mac } = batch;
    const note = (problem: string) => problems.push({ batch: number, problem });
    const own = found.get(number);
    const problem = own && problemWith(batch, own);
    if (own === undefined || (problem !== undefined && (await isPurged(sql, key, number))))
      purged += 1;
    else {
      records += own.count;
      if (problem !== undefined) note(problem);
    }
    if (number >= (head.first_mac ?? Infinity)) {
      if (mac === null) note('The batch has no MAC.');
      else if (batch.key_number !== key?.number || key.hmac(batchText(batch)) !== mac)
        note('The MAC is wrong.');
    } else if (mac === null) withoutMac += 1;
    else unchecked += 1;
  }
  return { batches: batches.length, records, purged, without_mac: withoutMac, unchecked, problems };
}

function problemWith(batch: AuditBatch, found: FoundBatch): string | undefined {
  if (found.count !== batch.count)
    return `The batch has ${found.count} records instead of ${batch.count}.`;
  if (found.hash.end() !== batch.hash) return 'The hash does not match the records.';
  if (found.first !== batch.first_seq || found.last !== batch.last_seq)
    return `The batch names records ${batch.first_seq} to ${batch.last_seq}, and has ${found.first} to ${found.last}.`;
  return undefined;
}

/** Returns whether retention has deleted the records of a batch in the meantime. */
async function isPurged(sql: Sql, key: AuditKey | undefined, number: number): Promise<boolean> {
  const head = await readHead(sql);
  return isGenuine(head, key) && number <= head.purged;
}

/** Reads and hashes the records of batches. Returns what each batch has, by its number. */
async function readBatchRecords(
  sql: Sql,
  batches: readonly AuditBatch[],
): Promise<ReadonlyMap<number, FoundBatch>> {
  const slicer = newSlicer();
  const results = new Map<number, FoundBatch>();
  for (const batch of batches)
    results.set(batch.number, { count: 0, first: 0, last: 0, hash: hashBatch(batch) });
  let remaining = batches;
  for (let after = { batch: 0, seq: 0 }; ;) {
    if (slicer.isOver()) await slicer.next();
    const range = rangeOf(remaining, RECORDS_PER_READ);
    if (range === undefined) return results;
    const { edge, end, lowestSeq, highestSeq } = range;
    const conditions: Fragment[] = [
      [IN_BATCHES, edge, end],
      [
        'seq >= ? AND seq <= ?',
        Math.max(lowestSeq, 1),
        Math.min(highestSeq, Number.MAX_SAFE_INTEGER),
      ],
      ['(batch > ? OR seq > ?)', edge, after.batch === edge ? after.seq : 0],
    ];
    const { text, parameters } = joined(conditions, ' AND ');
    const order = edge === end ? 'seq' : 'batch, seq';
    const rows = await sql.all(`${SELECT_RECORDS}${text} ORDER BY ${order} LIMIT ?`, [
      ...parameters,
      RECORDS_PER_READ,
    ]);
    const records = rows.map(storedRecord);
    for (const record of records) {
      const batch = results.get(record.batch ?? 0);
      if (batch === undefined) continue;
      if (batch.count === 0) batch.first = record.seq;
      batch.count += 1;
      batch.last = record.seq;
      batch.hash.add(record);
    }
    const last = records.length === RECORDS_PER_READ ? records.at(-1) : undefined;
    after = { batch: last?.batch ?? end, seq: last?.seq ?? 0 };
    remaining = remaining.filter(
      ({ number }) => number > end || (last !== undefined && number >= after.batch),
    );
  }
}
