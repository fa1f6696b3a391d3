import type { AuditEntry, AuditOrigin, AuditOutcome } from './audit-record.ts';
import type { Caller } from './caller.ts';
import type { ErrorCode } from './errors.ts';
import type { ResourceType } from './resource.ts';

export interface SecretRead {
  readonly caller: Caller;
  readonly source: string | undefined;
  readonly action: string;
  readonly type: ResourceType;
  /** The id and the name of the resource. Undefined for a list of several. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly count: number;
  readonly format?: string | undefined;
  /** Whether the read has a record of its own whatever the setting says. */
  readonly isAlways?: boolean;
  origin(): AuditOrigin;
  /** Returns the details for a record of this request alone, or of the same lists. */
  detail?(): Readonly<Record<string, unknown>>;
}

/** A request with a valid token that the service refused. */
interface Refusal {
  readonly caller: Caller;
  readonly source: string | undefined;
  /** The right that it requires, or the method and path pattern if it requires no right. */
  readonly action: string;
  readonly outcome: Exclude<AuditOutcome, 'success'>;
  readonly code: ErrorCode;
}

export interface Recording {
  fingerprint(secret: string): string;
  recorded(entry: AuditEntry): void;
  /** A promise if the response must wait for the record. It may reject with `unavailable`. */
  secretsRead(read: SecretRead): Promise<void> | undefined;
  refused(refusal: Refusal): void;
}
