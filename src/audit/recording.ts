import {
  auditEntry,
  type AuditEntry,
  type AuditOrigin,
  type SecretReads,
} from '../core/audit-record.ts';
import type { Tally } from './tally.ts';
import type { Clock } from '../core/ports.ts';
import type { Recording, SecretRead } from '../core/recording.ts';

interface RecordingDependencies {
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

/** The length of a usual record, to weigh the record of a list by its ids. */
const USUAL_LENGTH = 400;

function formatOf({ format }: SecretRead): Readonly<Record<string, unknown>> {
  return format === undefined ? {} : { format };
}

export function createRecording({
  tally,
  clock,
  secretReads,
  commit,
  hmac,
  recorded,
}: RecordingDependencies): Recording {
  /**
   * Counts a read that shares its record with others of the minute. Returns false if the caller has
   * read so many different keys that this read needs a record of its own.
   */
  const isCounted = (read: SecretRead) => {
    const { caller, source, action, type, id, name, count, format, detail } = read;
    const details = id === undefined ? (detail?.() ?? {}) : formatOf(read);
    const subject = id === undefined ? JSON.stringify(details) : `${id} ${format}`;
    return tally.count(
      caller.id,
      `${action}\n${source}\n${subject}`,
      { reads: 1, secrets: count },
      () =>
        auditEntry({ caller, source }, { at: clock(), action, type, id, name, detail: details }),
      1 + subject.length / USUAL_LENGTH,
    );
  };
  return {
    fingerprint(secret) {
      const digest = hmac(`tsigil audit secret\n${secret}`);
      return digest === undefined ? '(secret)' : `hmac:${digest.slice(0, FINGERPRINT_LENGTH)}`;
    },
    recorded,
    secretsRead(read) {
      const mode = read.isAlways === true ? 'each' : secretReads();
      if (mode === 'off' || (mode === 'counted' && isCounted(read))) return undefined;
      const { action, type, id, name, count } = read;
      const detail = { secrets: count, ...formatOf(read), ...read.detail?.() };
      return commit(auditEntry(read.origin(), { at: clock(), action, type, id, name, detail }));
    },
    refused(refusal) {
      const { caller, source, action, outcome, code } = refusal;
      const [collection = ''] = action.split(':');
      const key = `${action}\n${outcome}`;
      const amounts = { requests: 1, [code]: 1 };
      const create = (origin: AuditOrigin) => () =>
        auditEntry(origin, {
          at: clock(),
          action,
          outcome,
          ...(action.includes(':') ? { type: { collection } } : {}),
        });
      if (!tally.count(caller.id, `${key}\n${source}`, amounts, create({ caller, source })))
        tally.count(caller.id, key, amounts, create({ caller }), 0);
    },
  };
}
