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
import type { Store } from '../domain/model/ports.ts';
import { RESOURCE_TYPES } from '../domain/resources/resources.ts';
import { cachedFlight, singleFlight } from '../domain/scheduling/single-flight.ts';
import { addRoutes } from './request/routes.ts';

/** What the service counts. */
export interface Metrics {
  readonly registry: Registry;
  /** `route` is the pattern, never the URL: the number of series stays small and no value gets into one. */
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  observeCommit(writes: number, seconds: number): void;
  /** `outcome` is a word, of few. */
  observeKeystone(outcome: string, seconds: number): void;
  countKeystoneCacheHit(outcome: string): void;
}

/** Starts counting. Process figures (CPU, memory, event loop, descriptors) are prom-client's defaults. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  AggregatorRegistry.setRegistries([registry]); // what a worker tells the process that supervises it
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const build = {
    name: 'tsigil_build_info',
    help: 'The version that runs; always 1.',
    labelNames: ['version'],
    registers,
  } as const;
  new Gauge({ ...build, aggregator: 'max' }).set({ version }, 1);
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Requests by method, route pattern and status, and how long they took.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const errors = new Counter({
    name: 'http_request_errors_total',
    help: 'Requests that were answered with a status of 500 or above.',
    labelNames: ['method', 'route', 'status'] as const,
    registers,
  });
  const commits = new Histogram({
    name: 'tsigil_database_commit_duration_seconds',
    help: 'Transactions that were committed, and how long they took from their beginning to the disk.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
    registers,
  });
  const writes = new Counter({
    name: 'tsigil_database_writes_total',
    help: 'Writes that were committed; several may share a transaction.',
    registers,
  });
  const keystone = new Histogram({
    name: 'tsigil_keystone_validation_duration_seconds',
    help: 'Tokens that Keystone was asked about by outcome (valid, refused, unavailable), and how long it took with all repetitions.',
    labelNames: ['outcome'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const keystoneHits = new Counter({
    name: 'tsigil_keystone_cache_hits_total',
    help: 'Requests whose token Keystone did not have to be asked about, by what is remembered of it (valid, refused).',
    labelNames: ['outcome'] as const,
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
  };
}

/** How long the numbers of resources count, so that no scrape rate makes the database count rows all the time. */
const COUNTS_MAX_AGE_SECONDS = 15;

/** How long a scrape waits for the database. What it has not answered by then is left out. */
const DATABASE_TIMEOUT_MS = 3000;

/** What `/metrics` reads besides what the process counts. */
export interface MetricsSources {
  readonly store: Store;
  /** Resolves when the database answers. */
  readonly ping: () => Promise<void>;
  /** Reads the metrics of all processes of the service, where there are several. */
  readonly readAll: (() => Promise<string>) | undefined;
}

/**
 * Serves `/metrics` in Prometheus' text format. Concurrent scrapes share one run and return the same text. The numbers of
 * resources are at most 15 seconds old; their series are left out when the database does not answer.
 */
export function addMetrics(
  app: FastifyInstance,
  { registry }: Metrics,
  { store, ping, readAll }: MetricsSources,
): void {
  const registers = [registry];
  const countAll = cachedFlight(
    COUNTS_MAX_AGE_SECONDS,
    () => performance.now() / 1000,
    async () => {
      const counts: [collection: string, count: number][] = [];
      for (const type of RESOURCE_TYPES)
        counts.push([type.collection, await store.count(type, [])]);
      return counts;
    },
  );
  new Gauge({
    name: 'tsigil_database_up',
    help: 'Whether the database answers.',
    aggregator: 'min',
    registers,
    async collect() {
      this.set((await inTime(ping().then(() => true))) === true ? 1 : 0);
    },
  });
  new Gauge({
    name: 'tsigil_resources',
    help: `Resources by collection, at most ${COUNTS_MAX_AGE_SECONDS} seconds ago.`,
    labelNames: ['collection'] as const,
    aggregator: 'max',
    registers,
    async collect() {
      const counts = (await inTime(countAll())) ?? [];
      this.reset(); // together with what follows: a scrape in between must not see a part
      for (const [collection, count] of counts) this.set({ collection }, count);
    },
  });
  const read = singleFlight(readAll ?? (() => registry.metrics()));
  addRoutes(app, '/metrics', [
    {
      method: 'GET',
      handler: async (_request, reply) =>
        reply.header('content-type', registry.contentType).send(await read()),
    },
  ]);
}

/** What `work` resolves with; undefined when it fails or takes too long. */
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
