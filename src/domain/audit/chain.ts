import { createHash } from 'node:crypto';
import { ENTRY_COLUMNS, type StoredRecord } from './record.ts';

/** A batch: consecutive records that one hash seals. */
export interface AuditBatch {
  /** The first batch has number 1, and no number is missing. */
  readonly number: number;
  readonly at: string;
  /** The number of its records. */
  readonly count: number;
  readonly first_seq: number;
  readonly last_seq: number;
  /** The hash of the previous batch. */
  readonly previous: string;
  readonly hash: string;
  /** Null without encryption. */
  readonly mac: string | null;
  /** The number of the audit data key of `mac`. */
  readonly key_number: number | null;
  /** The time when retention deleted its records. Null while they exist. */
  readonly purged_at: string | null;
}

/** The maximum number of records in a batch. */
export const MAX_BATCH = 2000;

/** `previous` of the first batch. */
export const NO_PREVIOUS = '0'.repeat(64);

/** The number of characters that one call hashes, because each call takes as long as 500 octets. */
const HASHED_TOGETHER = 8192;

/** Computes the hash of a batch, one record at a time. */
export interface BatchHash {
  /** Adds the next record, in the order of `seq`. */
  add(record: StoredRecord): void;
  /** Returns the hash: SHA-256 in hexadecimal. */
  end(): string;
}

/**
 * Begins the hash of a batch. It covers the hash of the previous batch, and the number and the time
 * of this one. Of each record, it covers `seq` and the columns of `ENTRY_COLUMNS` as stored.
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
 * Returns a value with its length in octets, so that no two sequences of values have the same
 * encoding: `3:com;`, and `-;` for null.
 */
function part(value: string | number | null): string {
  if (value === null) return '-;';
  const text = String(value);
  return `${Buffer.byteLength(text)}:${text};`;
}
