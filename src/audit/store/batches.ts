import type { AuditBatch } from '../chain.ts';
import type { BatchQuery } from '../trail.ts';
import { earlier } from '../../core/text/timestamps.ts';
import type { Sql, SqlRow } from '../../sql/sql.ts';
import { lastBatchOf, MAX_NUMBER, readHead } from './head.ts';

/** The beginning of a query for batches. Callers append the conditions. */
export const SELECT_BATCHES =
  'SELECT number, at, count, first_seq, last_seq, previous, hash, mac, key_number FROM audit_batches WHERE ';

const CLOCK_MARGIN_MS = 3_600_000;

/** Consecutive batches, and the range of `seq` in them. */
export interface Range {
  /** The number of the batch that is read first. */
  readonly edge: number;
  /** The number of the batch that is read last. */
  readonly end: number;
  readonly lowestSeq: number;
  readonly highestSeq: number;
}

export async function readBatches(
  sql: Sql,
  { first, from, limit }: BatchQuery,
): Promise<AuditBatch[]> {
  const rows =
    first === 'oldest'
      ? await sql.all(`${SELECT_BATCHES}number > ? ORDER BY number LIMIT ?`, [from ?? 0, limit])
      : await sql.all(`${SELECT_BATCHES}number < ? ORDER BY number DESC LIMIT ?`, [
          from ?? MAX_NUMBER,
          limit,
        ]);
  return rows.map(storedBatch);
}

/**
 * Returns the number of the first batch that may have the requested records. The requested records
 * are at or after the timestamp `after`, and retention has not deleted them. The service seals
 * batches in the order of their numbers, so a binary search finds the number.
 */
export async function firstBatch(sql: Sql, after: string | undefined): Promise<number> {
  const sealedAt = after === undefined ? '' : earlier(after, CLOCK_MARGIN_MS);
  const head = await readHead(sql);
  let [low, high] = [(head?.purged ?? 0) + 1, ((await lastBatchOf(sql))?.number ?? 0) + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [batch] = (
      await sql.all(`${SELECT_BATCHES}number >= ? ORDER BY number LIMIT 1`, [middle])
    ).map(storedBatch);
    if (batch === undefined || batch.at >= sealedAt) high = middle;
    else low = batch.number + 1;
  }
  return low;
}

/** Returns the first batches with at most `size` records in total, but at least one batch. */
export function rangeOf(batches: readonly AuditBatch[], size: number): Range | undefined {
  const [first] = batches;
  if (first === undefined) return undefined;
  let range: Range | undefined;
  let count = 0;
  for (const batch of batches) {
    count += batch.count;
    if (range !== undefined && count > size) break;
    range = {
      edge: first.number,
      end: batch.number,
      lowestSeq: Math.min(range?.lowestSeq ?? Number.MAX_SAFE_INTEGER, batch.first_seq),
      highestSeq: Math.max(range?.highestSeq ?? 0, batch.last_seq),
    };
  }
  return range;
}

export function storedBatch(row: SqlRow): AuditBatch {
  // the migration defines these columns
  return {
    ...row,
    first_seq: Number(row.first_seq),
    last_seq: Number(row.last_seq),
  } as AuditBatch;
}
