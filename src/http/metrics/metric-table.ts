import { millisecondsOf } from '../../core/text/timestamps.ts';

export const REQUEST_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** What every service counts. The features have tables of their own. */
export const BASE_METRICS = {
  http_request_duration_seconds: {
    help: 'Duration of requests by method, route pattern and status.',
    labels: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
  },
  http_request_errors_total: {
    help: 'Requests with a response status of 500 or above.',
    labels: ['method', 'route', 'status'],
  },
  tsigil_connections_cut_off_total: {
    help: 'Connections that the service closed after it accepted them, by reason.',
    labels: ['reason'],
  },
  tsigil_connections_refused_total: {
    help: 'Connections that the service closed on arrival, by the limit they exceeded (total, address).',
    labels: ['limit'],
  },
  tsigil_database_commit_duration_seconds: {
    help: 'Duration of committed transactions, from their beginning until they are on disk.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
  },
  tsigil_database_writes_total: {
    help: 'Committed writes. One transaction may contain several writes.',
  },
} as const satisfies MetricTable;

/** What the process counts as it happens: a histogram if it has buckets, otherwise a counter. */
export interface CountedMetric {
  readonly help: string;
  readonly labels?: readonly string[];
  readonly buckets?: readonly number[];
}

export type MetricTable = Readonly<Record<string, CountedMetric>>;

/** What a scrape asks of the process itself. */
export const LIVE = {
  tsigil_connections_open: { help: 'Open connections from clients.' },
  tsigil_unsent_response_bytes: {
    help: 'Bytes of large responses that callers have not read yet.',
  },
  tsigil_database_up: { help: '1 if the database responds, 0 if not.' },
} as const;

export interface DatabaseGauge<T> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  valueOf(result: T): number | (readonly [labels: Record<string, string>, value: number])[];
}

/** Returns the age of an API timestamp in seconds. Returns 0 for a missing or future timestamp. */
export function ageSeconds(timestamp: string | null | undefined): number {
  return timestamp == null ? 0 : Math.max(0, Date.now() - millisecondsOf(timestamp)) / 1000;
}
