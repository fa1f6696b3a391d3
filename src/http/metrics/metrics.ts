import { setTimeout as pause } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DeliveryStatus } from '../../delivery/delivery-ports.ts';
import { withStatus } from '../../delivery/status.ts';
import type { Store } from '../../core/ports.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { nameServer } from '../../resources/name-server.ts';
import { cachedFlight } from '../../core/scheduling/single-flight.ts';
import {
  COUNTED,
  LIVE,
  NAME_SERVER_GAUGES,
  type CountedMetric,
  type DatabaseGauge,
} from './metric-table.ts';

/** Without this cache, the database would count rows at each scrape. */
export const MAX_AGE_SECONDS = 15;

type Counted = typeof COUNTED;
type Labels<N extends keyof Counted> = Counted[N] extends { labels: readonly (infer L)[] }
  ? Readonly<Record<L & string, string | number>>
  : undefined;

export interface Metrics {
  readonly registry: Registry;
  /**
   * Adds `value` to a counter, or to the observations of a histogram. Labels never contain data of
   * a request, which would make a series for each.
   */
  note<N extends keyof Counted>(name: N, value?: number, labels?: Labels<N>): void;
  /** Shows a counter or a histogram without observations, so that its first increase is visible. */
  begin<N extends keyof Counted>(name: N, labels: Labels<N>): void;
  live(name: keyof typeof LIVE, read: () => number | Promise<number>): void;
}

/**
 * The interval between measurements of the event loop delay, in milliseconds. Each measurement
 * wakes up the process. With the default of 10 ms, the measurements took two thirds of the CPU time
 * of an idle service.
 */
const EVENT_LOOP_MS = 200;

/** Process metrics (CPU, memory, event loop, descriptors) are prom-client's defaults. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  const build = {
    name: 'tsigil_build_info',
    help: 'The version of the service, in the label `version`. The value is always 1.',
    labelNames: ['version'],
    registers,
  } as const;
  new Gauge(build).set({ version }, 1);
  const counted = new Map<
    string,
    (labels: Record<string, string | number>, value: number | undefined) => void
  >(
    Object.entries<CountedMetric>(COUNTED).map(([name, { help, labels = [], buckets }]) => {
      const details = { name, help, labelNames: labels, registers };
      if (buckets === undefined) {
        const counter = new Counter(details);
        return [name, (given, value = 0) => counter.inc(given, value)];
      }
      const histogram = new Histogram({ ...details, buckets: [...buckets] });
      return [
        name,
        (given, value) =>
          value === undefined ? histogram.zero(given) : histogram.observe(given, value),
      ];
    }),
  );
  return {
    registry,
    note: (name, value = 1, labels) => counted.get(name)?.(labels ?? {}, value),
    begin: (name, labels) => counted.get(name)?.(labels ?? {}, undefined),
    live(name, read) {
      new Gauge({
        name,
        ...LIVE[name],
        registers,
        async collect() {
          this.set(await read());
        },
      });
    },
  };
}

/** A scrape waits this long, and then omits the metrics that are not available yet. */
const DATABASE_TIMEOUT_MS = 3000;

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

/** The result begins the counters of all name servers. Scrapes begin those of new ones. */
export function addNameServerGauges(
  metrics: Metrics,
  store: Store,
  status: Pick<DeliveryStatus, 'statuses'>,
): () => Promise<void> {
  const begun = new Set<string>();
  const query = { limit: MAX_LIMIT, sortField: 'created_at', descending: false, conditions: [] };
  const readServers = async () => {
    const servers = await store.list(nameServer, query);
    const statuses = await status.statuses(servers.map(({ id }) => id));
    for (const { name } of servers) {
      if (!begun.has(name)) beginPassMetrics(metrics, name);
      begun.add(name);
    }
    return servers.map((server) => withStatus(server, statuses.get(server.id)));
  };
  addDatabaseGauges(metrics, readServers, NAME_SERVER_GAUGES);
  return async () => {
    await readServers();
  };
}

interface ObservedPass {
  readonly server: { readonly name: string };
  readonly outcome: string;
  readonly error: { readonly code: string } | null;
  readonly foundDrift: boolean;
  readonly lagSeconds: number | undefined;
}

/**
 * Begins the metrics of which an alert must see the first increase. All others have no series
 * before there is something to count, which keeps a scrape of many name servers short.
 */
function beginPassMetrics({ begin }: Metrics, name: string): void {
  const server = { name_server: name };
  begin('tsigil_delivery_drift_total', server);
  begin('tsigil_delivery_seconds', server);
}

/** The maximum number of reasons per name server. Agents can report any text as a reason. */
const MAX_CODES = 32;

export function createPassMetrics({
  note,
}: Metrics): (pass: ObservedPass, seconds: number) => void {
  const codes = new Map<string, Set<string>>();
  const codeOf = (server: string, code: string): string => {
    const known = codes.get(server) ?? new Set();
    codes.set(server, known);
    if (known.size < MAX_CODES) known.add(code);
    return known.has(code) ? code : 'other';
  };
  return ({ server: { name }, outcome, error, foundDrift, lagSeconds }, seconds) => {
    const server = { name_server: name };
    note('tsigil_delivery_passes_total', 1, { ...server, result: outcome });
    note('tsigil_delivery_pass_duration_seconds', seconds, server);
    if (error !== null)
      note('tsigil_delivery_failures_total', 1, { ...server, code: codeOf(name, error.code) });
    if (foundDrift) note('tsigil_delivery_drift_total', 1, server);
    if (lagSeconds !== undefined && outcome !== 'failed')
      note('tsigil_delivery_seconds', lagSeconds, server);
  };
}

/** Returns the result of `work`, or undefined if it fails or takes more than 3 seconds. */
export async function inTime<T>(work: Promise<T>): Promise<T | undefined> {
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
