import { Counter } from 'prom-client';
import type { AuditEntry } from '../domain/audit/record.ts';
import { addDatabaseGauges, ageSeconds, type Metrics } from './metrics.ts';

/** The state of the audit trail in the database. */
export interface TrailState {
  /** The number of records without a batch. */
  readonly unsealed: number;
  /** The time of the oldest of them, as a timestamp of the API. */
  readonly oldest: string | undefined;
  readonly lastBatch: number;
}

/** The metrics of the audit trail. */
export interface AuditMetrics {
  /** Counts a record that this process has written. */
  count(entry: AuditEntry): void;
  /** Counts a repair of the end of the hash chain. */
  repaired(): void;
  /** Counts records of combined events that were dropped. */
  dropped(records: number): void;
  /** Adds the metrics of the database. They are omitted if it does not respond. */
  observe(trail: { state(): Promise<TrailState> }): void;
}

/** Creates the metrics of the audit trail. */
export function createAuditMetrics(metrics: Metrics): AuditMetrics {
  const registers = [metrics.registry];
  const records = new Counter({
    name: 'tsigil_audit_records_total',
    help: 'Records of the audit trail that were written, by outcome (success, denied, failed).',
    labelNames: ['outcome'] as const,
    registers,
  });
  const repairs = new Counter({
    name: 'tsigil_audit_repairs_total',
    help: 'How often another program had deleted the end of the audit trail.',
    registers,
  });
  const dropped = new Counter({
    name: 'tsigil_audit_dropped_records_total',
    help: 'Records of secret reads and refused requests that were lost, because the database could not be written.',
    registers,
  });
  return {
    count: ({ outcome }) => records.inc({ outcome }),
    repaired: () => repairs.inc(),
    dropped: (count) => dropped.inc(count),
    observe: (trail) =>
      addDatabaseGauges(metrics, () => trail.state(), [
        {
          name: 'tsigil_audit_unsealed_records',
          help: 'Records of the audit trail without a batch.',
          valueOf: ({ unsealed }) => unsealed,
        },
        {
          name: 'tsigil_audit_unsealed_age_seconds',
          help: 'Age of the oldest record of the audit trail without a batch.',
          valueOf: ({ oldest }) => ageSeconds(oldest),
        },
        {
          name: 'tsigil_audit_last_batch',
          help: 'Number of the last batch of the audit trail.',
          valueOf: ({ lastBatch }) => lastBatch,
        },
      ]),
  };
}
