import type { MetricTable } from '../http/metrics/metric-table.ts';

export const TOKEN_METRICS = {
  tsigil_forged_credentials_total: {
    help: 'Requests with a token that another program stored or changed in the database.',
  },
} as const satisfies MetricTable;
