import { Counter, Histogram } from 'prom-client';
import { REPORTING_UNKNOWN_KEYS } from '../domain/brands/brands.ts';
import type { DeliveryStatus } from '../domain/delivery/ports.ts';
import { withStatus } from '../domain/delivery/status.ts';
import type { Store } from '../domain/model/ports.ts';
import { MAX_LIMIT } from '../domain/model/settings.ts';
import { nameServer } from '../domain/resources/name-server.ts';
import { SERVER_STATES } from '../domain/resources/name-server-status.ts';
import { addDatabaseGauges, ageSeconds, type DatabaseGauge, type Metrics } from './metrics.ts';

/** The maximum number of reasons per name server. Agents can report any text as a reason. */
const MAX_CODES = 32;

/** The members of a pass's result that the metrics use. */
export interface ObservedPass {
  readonly server: { readonly name: string };
  readonly outcome: string;
  readonly error: { readonly code: string } | null;
  readonly foundDrift: boolean;
  readonly lagSeconds: number | undefined;
}

/** The metrics of key delivery. They contain no key names. */
export interface DeliveryMetrics {
  observe(pass: ObservedPass, seconds: number): void;
  /** Adds the metrics that are read from the database. */
  addStatus(store: Store, status: Pick<DeliveryStatus, 'statuses'>): void;
}

/** Adds the metrics of key delivery. */
export function addDeliveryMetrics(metrics: Metrics): DeliveryMetrics {
  const registers = [metrics.registry];
  const passes = new Counter({
    name: 'tsigil_delivery_passes_total',
    help: 'Delivery passes by name server and result.',
    labelNames: ['name_server', 'result'] as const,
    registers,
  });
  const failures = new Counter({
    name: 'tsigil_delivery_failures_total',
    help: 'Failed delivery passes by name server and reason.',
    labelNames: ['name_server', 'code'] as const,
    registers,
  });
  const drift = new Counter({
    name: 'tsigil_delivery_drift_total',
    help: 'Delivery passes that found keys changed by another program, by name server.',
    labelNames: ['name_server'] as const,
    registers,
  });
  const delivered = new Histogram({
    name: 'tsigil_delivery_seconds',
    help: 'Time from a change to its verification, for the oldest change of each pass.',
    labelNames: ['name_server'] as const,
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const duration = new Histogram({
    name: 'tsigil_delivery_pass_duration_seconds',
    help: 'Duration of delivery passes.',
    labelNames: ['name_server'] as const,
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const codes = new Map<string, Set<string>>();
  const codeOf = (server: string, code: string): string => {
    const known = codes.get(server) ?? new Set();
    codes.set(server, known);
    if (known.size < MAX_CODES) known.add(code);
    return known.has(code) ? code : 'other';
  };
  return {
    observe({ server: { name }, outcome, error, foundDrift, lagSeconds }, seconds) {
      const label = { name_server: name };
      passes.inc({ ...label, result: outcome });
      duration.observe(label, seconds);
      if (error !== null) failures.inc({ ...label, code: codeOf(name, error.code) });
      if (foundDrift) drift.inc(label);
      if (lagSeconds !== undefined && outcome !== 'failed') delivered.observe(label, lagSeconds);
    },
    addStatus: (store, status) => addStatusMetrics(metrics, store, status),
  };
}

/**
 * Adds the gauges of all name servers. A scrape omits these gauges if the database does not
 * respond.
 */
function addStatusMetrics(
  metrics: Metrics,
  store: Store,
  status: Pick<DeliveryStatus, 'statuses'>,
): void {
  const query = { limit: MAX_LIMIT, sortField: 'created_at', descending: false, conditions: [] };
  const readServers = async () => {
    const servers = await store.list(nameServer, query);
    const statuses = await status.statuses(servers.map(({ id }) => id));
    return servers.map((server) => withStatus(server, statuses.get(server.id)));
  };
  type Server = Awaited<ReturnType<typeof readServers>>[number];
  const gauge = (
    name: string,
    help: string,
    valueOf: (server: Server) => number | undefined,
  ): DatabaseGauge<Server[]> => ({
    name,
    help,
    labelNames: ['name_server'],
    valueOf: (servers) =>
      servers.flatMap((server) => {
        const value = valueOf(server);
        return value === undefined ? [] : [[{ name_server: server.name }, value]];
      }),
  });
  addDatabaseGauges(metrics, readServers, [
    gauge(
      'tsigil_delivery_keys_wanted',
      'Keys that the name server should have.',
      (server) => server.keys_wanted,
    ),
    gauge(
      'tsigil_delivery_keys_live',
      'Keys that are verified on the name server.',
      (server) => server.keys_live,
    ),
    gauge(
      'tsigil_delivery_unknown_keys',
      `Keys on the name server that the database lacks. ${REPORTING_UNKNOWN_KEYS} only.`,
      (server) => server.unknown_keys.length,
    ),
    {
      name: 'tsigil_delivery_held_keys',
      help: 'Keys that resumed delivery would change on a name server whose state is held.',
      labelNames: ['name_server', 'change'],
      valueOf: (servers) =>
        servers.flatMap(({ name, held }) =>
          (['added', 'removed', 'changed'] as const).map(
            (change): [Record<string, string>, number] => [
              { name_server: name, change },
              held?.[change] ?? 0,
            ],
          ),
        ),
    },
    gauge(
      'tsigil_delivery_oldest_seconds',
      'Age of the oldest change that waits for delivery. 0 if none waits.',
      (server) => ageSeconds(server.pending_since),
    ),
    gauge(
      'tsigil_delivery_verified_age_seconds',
      'Time since all keys were last verified.',
      ({ verified_at: verified }) => (verified === null ? undefined : ageSeconds(verified)),
    ),
    {
      name: 'tsigil_name_server_state',
      help: `1 for the current state of each name server: ${SERVER_STATES.join(', ')}.`,
      labelNames: ['name_server', 'state'],
      valueOf: (servers) => servers.map(({ name, state }) => [{ name_server: name, state }, 1]),
    },
  ]);
}
