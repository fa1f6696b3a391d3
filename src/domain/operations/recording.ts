import type { AuditEntry, AuditOutcome, SecretReads } from '../audit/record.ts';
import type { Tally } from '../audit/tally.ts';
import type { Caller } from '../model/caller.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { Clock } from '../model/ports.ts';
import type { ResourceType } from '../model/resource.ts';
import { auditEntry, type AuditOrigin } from './audit-entry.ts';

/** A request that returned secrets. */
export interface SecretRead {
  readonly caller: Caller;
  readonly source: string | undefined;
  readonly action: string;
  readonly type: ResourceType;
  /** The id and the name of the resource. Undefined for a list. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly count: number;
  origin(): AuditOrigin;
  /**
   * Returns the details for a record of this request alone. A record that combines requests has no
   * details.
   */
  detail?(): Readonly<Record<string, unknown>>;
}

/** A request with a valid token that the service refused. */
export interface Refusal {
  readonly caller: Caller;
  readonly source: string | undefined;
  /**
   * The right that the request requires, or the method and path pattern of a request that requires
   * no right.
   */
  readonly action: string;
  readonly outcome: Exclude<AuditOutcome, 'success'>;
  readonly code: ErrorCode;
}

/** The parts of the audit trail that the operations use. */
export interface Recording {
  /** Returns the fingerprint of a secret in the trail. */
  fingerprint(secret: string): string;
  /** Called for each record after the commit. */
  recorded(entry: AuditEntry): void;
  /**
   * Records a read of secrets. Returns a promise if the response must wait for the record. The
   * promise may reject with `unavailable`.
   */
  secretsRead(read: SecretRead): Promise<void> | undefined;
  refused(refusal: Refusal): void;
}

export interface RecordingDependencies {
  readonly tally: Tally;
  readonly clock: Clock;
  secretReads(): SecretReads;
  /** Writes a record in its own transaction. Throws `unavailable`. */
  commit(entry: AuditEntry): Promise<void>;
  /** Returns the HMAC of a text under the audit data key, or undefined without encryption. */
  hmac(text: string): string | undefined;
  recorded(entry: AuditEntry): void;
}

const FINGERPRINT_LENGTH = 12;

export function createRecording({
  tally,
  clock,
  secretReads,
  commit,
  hmac,
  recorded,
}: RecordingDependencies): Recording {
  return {
    fingerprint(secret) {
      const digest = hmac(`tsigil audit secret\n${secret}`);
      return digest === undefined ? '(secret)' : `hmac:${digest.slice(0, FINGERPRINT_LENGTH)}`;
    },
    recorded,
    secretsRead(read) {
      const mode = secretReads();
      if (mode === 'off') return undefined;
      const { caller, source, action, type, id, name, count } = read;
      if (mode === 'each')
        return commit(
          auditEntry(read.origin(), {
            at: clock(),
            action,
            type,
            id,
            name,
            detail: { secrets: count, ...read.detail?.() },
          }),
        );
      const coarse = `${caller.id}\n${action}`;
      tally.count(`${coarse}\n${source}\n${id}`, coarse, { reads: 1, secrets: count }, (isCoarse) =>
        auditEntry(combined(read, isCoarse), {
          at: clock(),
          action,
          type,
          ...(isCoarse ? {} : { id, name }),
        }),
      );
      return undefined;
    },
    refused(refusal) {
      const { caller, source, action, outcome, code } = refusal;
      const coarse = `${caller.id}\n${action}\n${outcome}`;
      const [collection = ''] = action.split(':');
      tally.count(`${coarse}\n${source}`, coarse, { requests: 1, [code]: 1 }, (isCoarse) =>
        auditEntry(combined(refusal, isCoarse), {
          at: clock(),
          action,
          outcome,
          ...(action.includes(':') ? { type: { collection } } : {}),
        }),
      );
    },
  };
}

function combined(
  { caller, source }: Pick<SecretRead, 'caller' | 'source'>,
  isCoarse: boolean,
): AuditOrigin {
  return isCoarse ? { caller } : { caller, source };
}
