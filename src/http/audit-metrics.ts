import { Counter, Gauge } from 'prom-client';
import type { AuditEntry } from '../domain/audit/record.ts';
import { cachedFlight } from '../domain/scheduling/single-flight.ts';
import { COUNTS_MAX_AGE_SECONDS, inTime, type Metrics } from './metrics.ts';

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
export function createAuditMetrics({ registry }: Metrics): AuditMetrics {
  const registers = [registry];
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
    observe(trail) {
      const read = cachedFlight(
        COUNTS_MAX_AGE_SECONDS,
        () => performance.now() / 1000,
        () => trail.state(),
      );
      const gauge = (name: string, help: string, valueOf: (state: TrailState) => number) =>
        new Gauge({
          name,
          help,
          aggregator: 'max',
          registers,
          async collect() {
            const state = await inTime(read());
            if (state === undefined) this.reset();
            else this.set(valueOf(state));
          },
        });
      gauge(
        'tsigil_audit_unsealed_records',
        'Records of the audit trail without a batch.',
        ({ unsealed }) => unsealed,
      );
      gauge(
        'tsigil_audit_unsealed_age_seconds',
        'Age of the oldest record of the audit trail without a batch.',
        ({ oldest }) =>
          oldest === undefined ? 0 : Math.max(0, (Date.now() - Date.parse(`${oldest}Z`)) / 1000),
      );
      gauge(
        'tsigil_audit_last_batch',
        'Number of the last batch of the audit trail.',
        ({ lastBatch }) => lastBatch,
      );
    },
  };
}
