import { REQUEST_BUCKETS, type MetricTable } from '../http/metrics/metric-table.ts';

export const KEYSTONE_METRICS = {
  tsigil_keystone_validation_duration_seconds: {
    help: 'Duration of token validations with Keystone, including all retries, by outcome (valid, refused, unavailable).',
    labels: ['outcome'],
    buckets: REQUEST_BUCKETS.slice(2),
  },
  tsigil_keystone_cache_hits_total: {
    help: 'Requests whose token validation was cached, by cached outcome (valid, refused).',
    labels: ['outcome'],
  },
} as const satisfies MetricTable;
