import { setTimeout as pause } from 'node:timers/promises';
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client';
import type { FastifyInstance } from 'fastify';
import type { Encryption } from '../domain/encryption/status.ts';
import type { Store } from '../domain/model/ports.ts';
import { RESOURCE_TYPES } from '../domain/resources/resources.ts';
import { millisecondsOf } from '../domain/text/timestamps.ts';
import { cachedFlight, singleFlight } from '../domain/scheduling/single-flight.ts';
import { addRoutes } from './request/routes.ts';

export interface Metrics {
  readonly registry: Registry;
  /**
   * `route` is the pattern, never the URL. Patterns limit the number of series and keep request
   * data out of the labels.
   */
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  observeCommit(writes: number, seconds: number): void;
  /** `outcome` is `valid`, `refused` or `unavailable`. */
  observeKeystone(outcome: string, seconds: number): void;
  countKeystoneCacheHit(outcome: string): void;
  /** Counts a request with a credential that another program stored or changed. */
  countForgedCredential(): void;
}

/**
 * The interval between measurements of the event loop delay, in milliseconds. Each measurement
 * wakes up the process. With the default of 10 ms, the measurements took two thirds of the CPU time
 * of an idle service.
 */
const EVENT_LOOP_MS = 50;

/**
 * Creates the metrics. Process metrics (CPU, memory, event loop, descriptors) are prom-client's
 * defaults.
 */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  AggregatorRegistry.setRegistries([registry]); // the metrics that a worker sends to its supervisor
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  const build = {
    name: 'tsigil_build_info',
    help: 'The version of the service, in the label `version`. The value is always 1.',
    labelNames: ['version'],
    registers,
  } as const;
  new Gauge({ ...build, aggregator: 'max' }).set({ version }, 1);
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const errors = new Counter({
    name: 'http_request_errors_total',
    help: 'Requests with a response status of 500 or above.',
    labelNames: ['method', 'route', 'status'] as const,
    registers,
  });
  const commits = new Histogram({
    name: 'tsigil_database_commit_duration_seconds',
    help: 'Duration of committed transactions, from their beginning until they are on disk.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
    registers,
  });
  const writes = new Counter({
    name: 'tsigil_database_writes_total',
    help: 'Committed writes. One transaction may contain several writes.',
    registers,
  });
  const keystone = new Histogram({
    name: 'tsigil_keystone_validation_duration_seconds',
    help: 'Duration of token validations with Keystone, including all retries, by outcome (valid, refused, unavailable).',
    labelNames: ['outcome'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const keystoneHits = new Counter({
    name: 'tsigil_keystone_cache_hits_total',
    help: 'Requests whose token validation was cached, by cached outcome (valid, refused).',
    labelNames: ['outcome'] as const,
    registers,
  });
  const forged = new Counter({
    name: 'tsigil_forged_credentials_total',
    help: 'Requests with a token that another program stored or changed in the database.',
    registers,
  });
  return {
    registry,
    observeRequest(method, route, status, seconds) {
      requests.observe({ method, route, status }, seconds);
      if (status >= 500) errors.inc({ method, route, status });
    },
    observeCommit(count, seconds) {
      commits.observe(seconds);
      writes.inc(count);
    },
    observeKeystone: (outcome, seconds) => keystone.observe({ outcome }, seconds),
    countKeystoneCacheHit: (outcome) => keystoneHits.inc({ outcome }),
    countForgedCredential: () => forged.inc(),
  };
}

/**
 * How long results of database queries are cached. Without the cache, the database would count rows
 * at each scrape.
 */
const MAX_AGE_SECONDS = 15;

/**
 * How long a scrape waits for the database. The scrape then omits the metrics that are not
 * available yet.
 */
const DATABASE_TIMEOUT_MS = 3000;

/** A gauge whose values are computed from the result of a database query. */
export interface DatabaseGauge<T> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** Returns the value, or the labels and the value of each series of a gauge with labels. */
  valueOf(result: T): number | (readonly [labels: Record<string, string>, value: number])[];
}

/**
 * Adds gauges that share the result of `read`. `read` runs at most every 15 seconds, and once for
 * concurrent scrapes. A scrape omits the series if `read` fails or takes more than 3 seconds.
 */
export function addDatabaseGauges<T>(
  { registry }: Metrics,
  read: () => Promise<T>,
  gauges: readonly DatabaseGauge<T>[],
): void {
  const readCached = cachedFlight(MAX_AGE_SECONDS, () => performance.now() / 1000, read);
  for (const { name, help, labelNames = [], valueOf } of gauges)
    new Gauge({
      name,
      help,
      labelNames,
      aggregator: 'max',
      registers: [registry],
      async collect() {
        const result = await inTime(readCached());
        // No await from here on: a concurrent scrape must not see only some of the series.
        if (labelNames.length === 0) this.remove();
        else this.reset();
        if (result === undefined) return;
        const values = valueOf(result);
        if (typeof values === 'number') this.set(values);
        else for (const [labels, value] of values) this.set(labels, value);
      },
    });
}

/** The sources of `/metrics` besides the metrics of the process. */
export interface MetricsSources {
  readonly store: Store;
  /** Resolves if the database responds. */
  readonly ping: () => Promise<void>;
  /** Reads the metrics of all the service's processes. Undefined if there is one process. */
  readonly readAll: (() => Promise<string>) | undefined;
}

/**
 * Serves `/metrics` in Prometheus' text format. Concurrent scrapes share one run and return the
 * same text. The numbers of resources are at most 15 seconds old. A scrape omits these numbers if
 * the database does not respond.
 */
export function addMetrics(
  app: FastifyInstance,
  metrics: Metrics,
  { store, ping, readAll }: MetricsSources,
): void {
  const { registry } = metrics;
  new Gauge({
    name: 'tsigil_database_up',
    help: '1 if the database responds, 0 if not.',
    aggregator: 'min',
    registers: [registry],
    async collect() {
      this.set((await inTime(ping().then(() => true))) === true ? 1 : 0);
    },
  });
  const countAll = async () => {
    const counts: [labels: { collection: string }, count: number][] = [];
    for (const type of RESOURCE_TYPES)
      counts.push([{ collection: type.collection }, await store.count(type, [])]);
    return counts;
  };
  addDatabaseGauges(metrics, countAll, [
    {
      name: 'tsigil_resources',
      help: `Resources by collection. The numbers are at most ${MAX_AGE_SECONDS} seconds old.`,
      labelNames: ['collection'],
      valueOf: (counts) => counts,
    },
  ]);
  const read = singleFlight(readAll ?? (() => registry.metrics()));
  addRoutes(app, '/metrics', [
    {
      method: 'GET',
      async handler(request, reply) {
        request.settings.checkMetrics(request);
        return reply.header('content-type', registry.contentType).send(await read());
      },
    },
  ]);
}

/**
 * Adds the metrics of secret encryption. A scrape omits these metrics if the database does not
 * respond.
 */
export function addEncryptionMetrics(metrics: Metrics, encryption: Encryption): void {
  addDatabaseGauges(metrics, () => encryption.status(), [
    {
      name: 'tsigil_secrets_in_clear',
      help: 'Secrets in the database that are not encrypted.',
      valueOf: ({ clear_text: count }) => count,
    },
    {
      name: 'tsigil_secrets_unreadable',
      help: 'Secrets that a process could not decrypt and that no one has repaired since.',
      valueOf: ({ unreadable }) => unreadable,
    },
    {
      name: 'tsigil_data_key_age_seconds',
      help: 'Age of the data key that encrypts new secrets. 0 without encryption.',
      valueOf: ({ data_keys: keys }) => ageSeconds(keys.at(-1)?.created_at),
    },
  ]);
}

/** Returns the age of an API timestamp in seconds. Returns 0 for a missing or future timestamp. */
export function ageSeconds(timestamp: string | null | undefined): number {
  return timestamp == null ? 0 : Math.max(0, Date.now() - millisecondsOf(timestamp)) / 1000;
}

/** Returns the result of `work`, or undefined if it fails or takes more than 3 seconds. */
async function inTime<T>(work: Promise<T>): Promise<T | undefined> {
  const timeout = new AbortController();
  const tooLate = pause(DATABASE_TIMEOUT_MS, undefined, {
    signal: timeout.signal,
    ref: false,
  }).catch(() => undefined);
  try {
    return await Promise.race([work.catch(() => undefined), tooLate]);
  } finally {
    timeout.abort();
  }
}
