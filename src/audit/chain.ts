import { anyText, integer, nullable, timestamp, type ValueOf } from '../core/field.ts';
import { described, responseObject } from '../core/object.ts';
import { createHash } from 'node:crypto';
import { ENTRY_COLUMNS, type StoredRecord } from '../core/audit-record.ts';

/** A batch of consecutive records, sealed with one hash. */
export const BATCH = responseObject({
  number: described(
    integer(1),
    'The number of the batch. Batches have consecutive numbers, from 1.',
  ),
  at: described(timestamp(), 'The time when the service sealed the batch.'),
  count: described(integer(1), 'The number of records in the batch.'),
  first_seq: described(integer(1), 'The lowest `seq` in the batch.'),
  last_seq: described(integer(1), 'The highest `seq` in the batch.'),
  previous: described(anyText(), 'The hash of the previous batch. 64 zeros for the first batch.'),
  hash: described(
    anyText(),
    'The SHA-256 of the previous hash, the number and the time of the batch, and all records in the batch.',
  ),
  mac: described(
    nullable(anyText()),
    'The HMAC-SHA-256 of the other members of the batch, under the audit key. Null without encryption.',
  ),
  key_number: described(
    nullable(integer(1)),
    'The number of the audit key with which the MAC was computed.',
  ),
});

export type AuditBatch = ValueOf<typeof BATCH>;

/** The last batch of a trail. The number is 0, and the hash `NO_PREVIOUS`, before the first. */
export type ChainEnd = Pick<AuditBatch, 'number' | 'hash'>;

/** Something that happened to a trail, for ever under the MAC of its head. */
export interface TrailEvent {
  readonly event: TrailEventName;
  readonly at: string;
  /** The last batch that the trail had when it happened. */
  readonly batch: number;
  /** The end of the trail that a restore replaced. */
  readonly replaced?: ChainEnd;
}

interface TrailEventMeaning {
  readonly result: 'problem' | 'unchecked' | 'note';
  readonly text: string;
}

export const TRAIL_EVENTS = {
  head_changed: {
    result: 'problem',
    text: 'Another program had deleted or changed the head of the trail when the service sealed the batch after this one.',
  },
  head_set_back: {
    result: 'problem',
    text: 'Another program had set the head of the trail back to an earlier batch when the service sealed the batch after this one.',
  },
  purged_changed: {
    result: 'problem',
    text: 'Another program had changed the batches up to this one before retention deleted their records.',
  },
  key_lost: {
    result: 'unchecked',
    text: 'The key of the trail was lost, so no MAC up to this batch can be checked.',
  },
  key_created: {
    result: 'note',
    text: 'The trail got its key after this batch. No MAC protects the batches up to it.',
  },
  restored: {
    result: 'note',
    text: 'A backup that ends with this batch was restored.',
  },
} as const satisfies Readonly<Record<string, TrailEventMeaning>>;

export type TrailEventName = keyof typeof TRAIL_EVENTS;

export const TRAIL_EVENT_NAMES = Object.keys(TRAIL_EVENTS) as TrailEventName[];

/**
 * What the service knows of a whole trail: one row under one MAC, so that only the holder of the
 * key can say what was purged, and from which batch on a missing MAC means a forgery.
 */
export interface TrailHead extends ChainEnd {
  /** The first batch that must have a MAC. Null without encryption. */
  readonly first_mac: number | null;
  /** The last batch whose records retention has deleted; 0 if none. */
  readonly purged: number;
  /** The setting `audit.retentionDays`. Null until the first batch. */
  readonly retention_days: number | null;
  readonly events: readonly TrailEvent[];
  readonly mac: string | null;
  readonly key_number: number | null;
}

export const MAX_BATCH = 2000;

/** The value of `previous` in the first batch. */
export const NO_PREVIOUS = '0'.repeat(64);

/** The characters to hash in one call, whose overhead equals the time to hash 500 octets. */
const HASHED_TOGETHER = 8192;

export interface BatchHash {
  /** Adds the next record, in the order of `seq`. */
  add(record: StoredRecord): void;
  /** Returns the hash: SHA-256 in hexadecimal. */
  end(): string;
}

/**
 * The hash covers that of the previous batch, the number and the time of this batch, and for each
 * record `seq` and the stored values of `ENTRY_COLUMNS`.
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

/** The text under a batch's MAC has every column: the records that prove them may be purged. */
export function batchText(batch: Omit<AuditBatch, 'mac' | 'key_number'>): string {
  const { number, at, count, first_seq: first, last_seq: last, previous, hash } = batch;
  return `tsigil audit batch\n${[number, at, count, first, last, previous, hash].map(part).join('')}`;
}

/** Returns the text whose HMAC is the MAC of a head. `events` is their stored JSON. */
export function headText(head: Omit<TrailHead, 'events' | 'mac' | 'key_number'>, events: string) {
  const { number, hash, first_mac: first, purged, retention_days: days } = head;
  return `tsigil audit head\n${[number, hash, first, purged, days, events].map(part).join('')}`;
}

/** `3:com;`, with the length in octets, or `-;` for null: no two sequences encode the same. */
function part(value: string | number | null): string {
  if (value === null) return '-;';
  const text = String(value);
  return `${Buffer.byteLength(text)}:${text};`;
}
