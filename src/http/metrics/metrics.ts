import { setTimeout as pause } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { cachedFlight } from '../../core/scheduling/single-flight.ts';
import {
  BASE_METRICS,
  LIVE,
  type CountedMetric,
  type DatabaseGauge,
  type MetricTable,
} from './metric-table.ts';

/** Without this cache, the database would count rows at each scrape. */
export const MAX_AGE_SECONDS = 15;

type LabelValues = Readonly<Record<string, string | number>>;
type Labels<M> = M extends { readonly labels: readonly (infer L)[] }
  ? Readonly<Record<L & string, string | number>>
  : undefined;

// Unions of arguments, so that metrics of more tables serve where those of one are asked for.
type NoteArguments<T extends MetricTable> = T extends unknown
  ? {
      [N in keyof T & string]: [name: N, value?: number, labels?: Labels<T[N]>];
    }[keyof T & string]
  : never;
type BeginArguments<T extends MetricTable> = T extends unknown
  ? { [N in keyof T & string]: [name: N, labels: Labels<T[N]>] }[keyof T & string]
  : never;

/** Counts what the tables `T` list. A feature asks only for the metrics of its own table. */
export interface Metrics<T extends MetricTable = typeof BASE_METRICS> {
  readonly registry: Registry;
  /**
   * Adds `value` to a counter, or to the observations of a histogram. Labels never contain data of
   * a request, which would make a series for each.
   */
  readonly note: (...given: NoteArguments<T>) => void;
  /** Shows a counter or a histogram without observations, so that its first increase is visible. */
  readonly begin: (...given: BeginArguments<T>) => void;
  live(name: keyof typeof LIVE, read: () => number | Promise<number>): void;
}

/**
 * The interval between measurements of the event loop delay, in milliseconds. Each measurement
 * wakes up the process. With the default of 10 ms, the measurements took two thirds of the CPU time
 * of an idle service.
 */
const EVENT_LOOP_MS = 200;

/**
 * Returns the metrics of every service and of the tables of features. Process metrics (CPU, memory,
 * event loop, descriptors) are prom-client's defaults.
 */
export function createMetrics<T extends MetricTable = never>(
  version: string,
  features: readonly T[] = [],
): Metrics<typeof BASE_METRICS | T> {
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
  const tables = [BASE_METRICS, ...features].flatMap((table) =>
    Object.entries<CountedMetric>(table),
  );
  const counted = new Map<string, (labels: LabelValues, value: number | undefined) => void>(
    tables.map(([name, { help, labels = [], buckets }]) => {
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
    note: (name: string, value = 1, labels?: LabelValues) =>
      counted.get(name)?.(labels ?? {}, value),
    begin: (name: string, labels: LabelValues | undefined) =>
      counted.get(name)?.(labels ?? {}, undefined),
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
  { registry }: Pick<Metrics, 'registry'>,
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
