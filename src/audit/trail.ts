import type { AuditBatch } from './chain.ts';
import type { TrailVerification } from './responses.ts';
import type { AuditRecord } from '../core/audit-record.ts';

export const RECORD_FILTERS = [
  'actor_id',
  'actor_name',
  'action',
  'resource_type',
  'resource_id',
  'resource_name',
  'project_id',
  'outcome',
  'request_id',
] as const;

/** In `action`, `*` is any text. Names match ignoring case, and those of resources a final dot. */
export interface RecordFilters extends Partial<
  Readonly<Record<(typeof RECORD_FILTERS)[number], string>>
> {
  readonly after?: string;
  readonly before?: string;
}

/** A position after a record or a batch. The trail is ordered by batch, then by `seq`. */
export interface Position {
  readonly batch: number;
  readonly seq: number;
  /**
   * True in a newest-first list if the record was not sealed when the list began. `batch` is then
   * the number of the last batch at that time.
   */
  readonly unsealed?: boolean;
}

export interface RecordQuery {
  readonly filters: RecordFilters;
  /**
   * `oldest` lists only sealed records, whose order never changes. `newest` lists the records that
   * are not sealed yet, and then the sealed records.
   */
  readonly first: 'oldest' | 'newest';
  /** The position after which the page begins. Undefined for the first page. */
  readonly from: Position | undefined;
  readonly limit: number;
  /** The maximum size of the records as JSON. A page has at least one record. */
  readonly maxBytes: number;
}

/** A page of records. A page may have fewer records than the limit even if more records follow. */
export interface RecordPage {
  readonly records: readonly AuditRecord[];
  /** The position after the page. Undefined at the end of the list. */
  readonly next: Position | undefined;
}

export interface BatchQuery {
  readonly first: 'oldest' | 'newest';
  /** The number of the batch after which the page begins. */
  readonly from: number | undefined;
  readonly limit: number;
}

export interface BackupState {
  /** When `tsigil backup` last wrote one, or null if it never did. */
  readonly last_at: string | null;
  /** The backup from which `tsigil restore` made this database, or null if it is not restored. */
  readonly restored: {
    /** The name of the backup as it was given to the command. */
    readonly from: string;
    /** When the backup was written. Null if `tsigil backup` did not write it. */
    readonly backup_at: string | null;
    /** When it was restored. */
    readonly at: string;
  } | null;
}

/** The operations on the audit trail. Each operation throws `unavailable` if the database fails. */
export interface AuditTrail {
  backups(): Promise<BackupState>;
  records(query: RecordQuery): Promise<RecordPage>;
  batches(query: BatchQuery): Promise<readonly AuditBatch[]>;
  /** Verifies the whole trail, part by part. */
  verify(): AsyncIterable<TrailVerification>;
}
