import { Counter } from 'prom-client';
import type { AuditEntry } from '../domain/audit/record.ts';
import { addDatabaseGauges, ageSeconds, type Metrics } from './metrics.ts';

/** The state of the audit trail in the database. */
export interface TrailState {
  /** The number of records without a batch. */
  readonly unsealed: number;
  /** The time of the oldest record without a batch, in the timestamp format of the API. */
  readonly oldest: string | undefined;
  readonly lastBatch: number;
}

/** The metrics of the audit trail. */
export interface AuditMetrics {
  /** Counts a record that this process has written. */
  count(entry: AuditEntry): void;
  /** Counts a repair of the head after another program deleted, changed or set it back. */
  repaired(): void;
  /** Counts dropped records of combined events. */
  dropped(records: number): void;
  /**
   * Adds the metrics that a scrape reads from the database. The scrape omits these metrics if the
   * database does not respond.
   */
  observe(trail: { state(): Promise<TrailState> }): void;
}

/** Creates the metrics of the audit trail. */
export function createAuditMetrics(metrics: Metrics): AuditMetrics {
  const registers = [metrics.registry];
  const records = new Counter({
    name: 'tsigil_audit_records_total',
    help: 'Audit records that the service wrote, by outcome (success, denied, failed).',
    labelNames: ['outcome'] as const,
    registers,
  });
  const repairs = new Counter({
    name: 'tsigil_audit_repairs_total',
    help: 'Number of times that the service found that another program had deleted, changed or set back the head of the audit trail.',
    registers,
  });
  const dropped = new Counter({
    name: 'tsigil_audit_dropped_records_total',
    help: 'Audit records of secret reads and refused requests that were lost because the service could not write to the database.',
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
          help: 'Audit records that are not sealed in a batch yet.',
          valueOf: ({ unsealed }) => unsealed,
        },
        {
          name: 'tsigil_audit_unsealed_age_seconds',
          help: 'Age of the oldest audit record that is not sealed in a batch yet.',
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
