import { REPORTING_UNKNOWN_KEYS } from '../brands/brands.ts';
import type { Store } from '../core/ports.ts';
import { MAX_LIMIT } from '../core/settings.ts';
import { ageSeconds, type DatabaseGauge, type MetricTable } from '../http/metrics/metric-table.ts';
import { addDatabaseGauges, type Metrics } from '../http/metrics/metrics.ts';
import { nameServer, type NameServer } from '../resources/name-server.ts';
import { SERVER_STATES } from '../resources/name-server-status.ts';
import { withStatus, type ServerStatuses } from '../resources/operations/live-status.ts';
import type { PassResult } from './reconciler/record.ts';

export const DELIVERY_METRICS = {
  tsigil_delivery_passes_total: {
    help: 'Delivery passes by name server and result.',
    labels: ['name_server', 'result'],
  },
  tsigil_delivery_failures_total: {
    help: 'Failed delivery passes by name server and reason.',
    labels: ['name_server', 'code'],
  },
  tsigil_delivery_drift_total: {
    help: 'Delivery passes that found keys changed by another program, by name server.',
    labels: ['name_server'],
  },
  tsigil_delivery_seconds: {
    help: 'Time from a change to its verification, for the oldest change of each pass.',
    labels: ['name_server'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  },
  tsigil_delivery_pass_duration_seconds: {
    help: 'Duration of delivery passes.',
    labels: ['name_server'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
} as const satisfies MetricTable;

type DeliveryMetrics = Metrics<typeof DELIVERY_METRICS>;

/** A gauge with one series for each name server for which `valueOf` returns a number. */
const perServer = (
  name: string,
  help: string,
  valueOf: (server: NameServer) => number | undefined,
): DatabaseGauge<readonly NameServer[]> => ({
  name,
  help,
  labelNames: ['name_server'],
  valueOf: (servers) =>
    servers.flatMap((server) => {
      const value = valueOf(server);
      return value === undefined ? [] : [[{ name_server: server.name }, value]];
    }),
});

const NAME_SERVER_GAUGES: readonly DatabaseGauge<readonly NameServer[]>[] = [
  perServer(
    'tsigil_delivery_keys_wanted',
    'Keys that the name server should have.',
    (server) => server.keys_wanted,
  ),
  perServer(
    'tsigil_delivery_keys_live',
    'Keys that are verified on the name server.',
    (server) => server.keys_live,
  ),
  perServer(
    'tsigil_delivery_unknown_keys',
    `Keys on the name server that the database lacks. ${REPORTING_UNKNOWN_KEYS} only.`,
    (server) => server.unknown_keys.length,
  ),
  perServer(
    'tsigil_delivery_oldest_seconds',
    'Age of the oldest change that waits for delivery. 0 if none waits.',
    (server) => ageSeconds(server.pending_since),
  ),
  perServer(
    'tsigil_delivery_verified_age_seconds',
    'Time since all keys were last verified.',
    ({ verified_at: verified }) => (verified === null ? undefined : ageSeconds(verified)),
  ),
  {
    name: 'tsigil_delivery_held_keys',
    help: 'Keys that resumed delivery would change on a name server whose state is held.',
    labelNames: ['name_server', 'change'],
    valueOf: (servers) =>
      servers.flatMap(({ name, held }) =>
        held === null
          ? []
          : (['added', 'removed', 'changed'] as const).map(
              (change) => [{ name_server: name, change }, held[change]] as const,
            ),
      ),
  },
  {
    name: 'tsigil_name_server_state',
    help: `1 for the current state of each name server: ${SERVER_STATES.join(', ')}.`,
    labelNames: ['name_server', 'state'],
    valueOf: (servers) => servers.map(({ name, state }) => [{ name_server: name, state }, 1]),
  },
];

/** The result begins the counters of all name servers. Scrapes begin those of new ones. */
export function addNameServerGauges(
  metrics: DeliveryMetrics,
  store: Store,
  status: ServerStatuses,
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

/**
 * Begins the metrics of which an alert must see the first increase. All others have no series
 * before there is something to count, which keeps a scrape of many name servers short.
 */
function beginPassMetrics({ begin }: DeliveryMetrics, name: string): void {
  const server = { name_server: name };
  begin('tsigil_delivery_drift_total', server);
  begin('tsigil_delivery_seconds', server);
}

/** The maximum number of reasons per name server. Agents can report any text as a reason. */
const MAX_CODES = 32;

export function createPassMetrics({
  note,
}: DeliveryMetrics): (pass: PassResult, seconds: number) => void {
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
