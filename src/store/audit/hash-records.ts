import { hashBatch, type AuditBatch, type BatchHash } from '../../domain/audit/chain.ts';
import { newSlicer } from '../sql/reader.ts';
import type { Sql } from '../sql/sql.ts';
import { rangeOf, SELECT_BATCHES, storedBatch } from './batches.ts';
import { IN_BATCHES, SELECT_RECORDS, storedRecord } from './read.ts';

/**
 * The maximum number of batches in one part of a verification. This limit bounds the time of a
 * request.
 */
const MAX_BATCHES = 1000;
/** The maximum number of records in one part of a verification. */
export const MAX_RECORDS = 50_000;

/** The number of records that one statement reads. */
const RECORDS_PER_READ = 500;
/** Returns the batches after the number `after` that one part of a verification reads. */
export async function nextBatches(sql: Sql, after: number): Promise<AuditBatch[]> {
  const batches = (
    await sql.all(`${SELECT_BATCHES}number > ? ORDER BY number LIMIT ?`, [after, MAX_BATCHES])
  ).map(storedBatch);
  let records = 0;
  const end = batches.findIndex(({ count, purged_at: purgedAt }) => {
    records += purgedAt === null ? count : 0;
    return records > MAX_RECORDS;
  });
  return end === -1 ? batches : batches.slice(0, Math.max(1, end));
}

/** The number of records that the database contains for a batch, and their hash. */
export interface FoundBatch {
  count: number;
  readonly hash: { readonly end: string };
}

/**
 * Counts and hashes the records of the batches that were not purged. Returns the results by batch
 * number.
 */
export async function hashRecords(
  sql: Sql,
  batches: readonly AuditBatch[],
): Promise<ReadonlyMap<number, FoundBatch>> {
  const open = new Map<number, { count: number; readonly hash: BatchHash }>();
  const slicer = newSlicer();
  let left = batches.filter(({ purged_at: purgedAt }) => purgedAt === null);
  for (const batch of left) open.set(batch.number, { count: 0, hash: hashBatch(batch) });
  for (let after = { batch: 0, seq: 0 }; ;) {
    if (slicer.isOver()) await slicer.next();
    const range = rangeOf(left, RECORDS_PER_READ);
    if (range === undefined) break;
    const { edge, end, lowestSeq, highestSeq } = range;
    const records = (
      await sql.all(
        `${SELECT_RECORDS}${IN_BATCHES} AND seq >= ? AND seq <= ? AND (batch > ? OR seq > ?) ORDER BY ${edge === end ? '' : 'batch, '}seq LIMIT ?`,
        [
          edge,
          end,
          lowestSeq,
          highestSeq,
          edge,
          after.batch === edge ? after.seq : 0,
          RECORDS_PER_READ,
        ],
      )
    ).map(storedRecord);
    for (const record of records) {
      const batch = open.get(record.batch ?? 0);
      if (batch === undefined) continue; // retention is deleting the batch
      batch.count += 1;
      batch.hash.add(record);
    }
    const last = records.length === RECORDS_PER_READ ? records.at(-1) : undefined;
    after = { batch: last?.batch ?? end, seq: last?.seq ?? 0 };
    left = left.filter(
      ({ number }) => number > end || (last !== undefined && number >= after.batch),
    );
  }
  return new Map(
    [...open].map(([number, { count, hash }]) => [number, { count, hash: { end: hash.end() } }]),
  );
}
