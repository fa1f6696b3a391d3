import { createHash } from 'node:crypto';
import { ENTRY_COLUMNS, type StoredRecord } from './record.ts';

/** A batch of consecutive records, sealed with one hash. */
export interface AuditBatch {
  /** The number of the batch. Batches have consecutive numbers, from 1. */
  readonly number: number;
  readonly at: string;
  /** The number of records in the batch. */
  readonly count: number;
  readonly first_seq: number;
  readonly last_seq: number;
  /** The hash of the previous batch. */
  readonly previous: string;
  readonly hash: string;
  /** Null without encryption. */
  readonly mac: string | null;
  /** The number of the audit data key with which `mac` was computed. */
  readonly key_number: number | null;
  /** The time when retention deleted the batch's records. Null while the records exist. */
  readonly purged_at: string | null;
}

/** The maximum number of records in a batch. */
export const MAX_BATCH = 2000;

/** The value of `previous` in the first batch. */
export const NO_PREVIOUS = '0'.repeat(64);

/**
 * The number of characters to hash in one call. The overhead of a call equals the time to hash 500
 * octets.
 */
const HASHED_TOGETHER = 8192;

/** The hash of a batch, computed one record at a time. */
export interface BatchHash {
  /** Adds the next record, in the order of `seq`. */
  add(record: StoredRecord): void;
  /** Returns the hash: SHA-256 in hexadecimal. */
  end(): string;
}

/**
 * Begins the hash of a batch. The hash covers the hash of the previous batch, and the number and
 * the time of this batch. For each record, the hash covers `seq` and the stored values of
 * `ENTRY_COLUMNS`.
 */
export function hashBatch({
  previous,
  number,
  at,
}: Pick<AuditBatch, 'previous' | 'number' | 'at'>): BatchHash {
  const hash = createHash('sha256');
  let text = part(previous) + part(number) + part(at);
  return {
    add(record) {
      text += part(record.seq);
      for (const column of ENTRY_COLUMNS) text += part(record[column]);
      if (text.length < HASHED_TOGETHER) return;
      hash.update(text);
      text = '';
    },
    end: () => hash.update(text).digest('hex'),
  };
}

/** Returns the text whose HMAC under the audit data key is the MAC of a batch. */
export function macText({ number, hash }: Pick<AuditBatch, 'number' | 'hash'>): string {
  return `tsigil audit batch\n${number}\n${hash}`;
}

/**
 * Returns a value prefixed with its length in octets, such as `3:com;`, or `-;` for null. No two
 * sequences of values have the same encoding.
 */
function part(value: string | number | null): string {
  if (value === null) return '-;';
  const text = String(value);
  return `${Buffer.byteLength(text)}:${text};`;
}
