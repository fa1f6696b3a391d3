import type { AuditEntry, SecretReads } from '../../core/audit-record.ts';
import { createTally } from '../tally.ts';
import type { Recording } from '../../core/recording.ts';
import { createRecording } from '../recording.ts';
import type { Keyring } from '../../core/keyring.ts';
import type { Clock } from '../../core/ports.ts';
import type { AuditTrail } from '../trail.ts';
import type { Database } from '../../sql/sql.ts';
import { readBatches } from './batches.ts';
import { readBackupState } from './last-backup.ts';
import { readRecords } from './read.ts';
import { runTrail, type RunningTrail } from './trail-job.ts';
import { verifyTrail } from './verify-trail.ts';

interface AuditSettings {
  readonly secretReads: SecretReads;
  readonly retentionDays: number;
  readonly toLog: boolean;
}

interface AuditDependencies {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly now: Clock;
  readonly holder: string;
  settings(): AuditSettings;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  readonly metrics: {
    count(entry: AuditEntry): void;
    repaired(): void;
  };
  readonly intervalMs?: number | undefined;
}

/** Starts the audit trail of a service. The schema of the database must be up to date. */
export function openAudit({ settings, log, metrics, ...rest }: AuditDependencies): {
  readonly running: RunningTrail;
  readonly trail: AuditTrail;
  readonly recording: Recording;
} {
  const { database, keyring, now } = rest;
  const sql = database.reads;
  const tally = createTally();
  const recorded = (entry: AuditEntry) => {
    metrics.count(entry);
    if (settings().toLog) log.info({ audit: entry }, 'audit');
  };
  const running = runTrail({
    ...rest,
    tally,
    recorded,
    retentionDays: () => settings().retentionDays,
    checkpoint: ({ number, hash }) => log.info({ batch: number, hash }, 'audit checkpoint'),
    failed: (err) => log.error({ err }, 'The audit trail could not be sealed'),
    repaired({ number }) {
      metrics.repaired();
      log.error(
        { batch: number },
        'Another program deleted, changed or set back the head of the audit trail. The service continues after the last batch in the database. Compare the trail with earlier checkpoints: tsigil audit verify --checkpoints FILE',
      );
    },
  });
  const recording = createRecording({
    tally,
    clock: now,
    recorded,
    secretReads: () => settings().secretReads,
    commit: (entry) => running.commit(entry),
    hmac: (text) => keyring.auditKey()?.hmac(text),
  });
  const trail: AuditTrail = {
    async backups() {
      await database.ping(); // another program writes backups
      return readBackupState(sql);
    },
    records: (query) => readRecords(sql, query),
    batches: (query) => readBatches(sql, query),
    async *verify() {
      await database.ping(); // what another program has changed belongs to what is verified
      yield* verifyTrail({ sql, key: () => keyring.auditKey(), now });
    },
  };
  return { running, trail, recording };
}
