import { ageSeconds, type DatabaseGauge, type MetricTable } from '../http/metrics/metric-table.ts';
import type { TrailState } from './store/trail-job.ts';

export const AUDIT_METRICS = {
  tsigil_audit_records_total: {
    help: 'Audit records that the service wrote, by outcome (success, denied, failed).',
    labels: ['outcome'],
  },
  tsigil_audit_repairs_total: {
    help: 'Number of times that the service found that another program had deleted, changed or set back the head of the audit trail.',
  },
} as const satisfies MetricTable;

export const TRAIL_GAUGES: readonly DatabaseGauge<TrailState>[] = [
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
];
