import { Counter, Gauge, Histogram } from 'prom-client';
import type { DeliveryStatus } from '../domain/delivery/ports.ts';
import { withStatus } from '../domain/delivery/status.ts';
import type { Store } from '../domain/model/ports.ts';
import { MAX_LIMIT } from '../domain/model/settings.ts';
import { nameServer } from '../domain/resources/name-server.ts';
import { SERVER_STATES } from '../domain/resources/name-server-status.ts';
import type { Metrics } from './metrics.ts';

/** The result of a pass, as far as metrics show it. */
export interface ObservedPass {
  readonly server: { readonly name: string };
  readonly outcome: string;
  readonly error: { readonly code: string } | null;
  readonly foundDrift: boolean;
  readonly lagSeconds: number | undefined;
}

/** Metrics of the delivery of keys. Names of keys never appear in them. */
export interface DeliveryMetrics {
  observe(pass: ObservedPass, seconds: number): void;
  /** Adds the metrics that are read from the database. */
  addStatus(store: Store, status: Pick<DeliveryStatus, 'statuses'>): void;
}

/** Adds the metrics of the delivery of keys. */
export function addDeliveryMetrics({ registry }: Metrics): DeliveryMetrics {
  const registers = [registry];
  const passes = new Counter({
    name: 'tsigil_delivery_passes_total',
    help: 'Passes by name server and result.',
    labelNames: ['name_server', 'result'] as const,
    registers,
  });
  const failures = new Counter({
    name: 'tsigil_delivery_failures_total',
    help: 'Failed passes by name server and reason.',
    labelNames: ['name_server', 'code'] as const,
    registers,
  });
  const drift = new Counter({
    name: 'tsigil_delivery_drift_total',
    help: 'How often another program had changed the keys of a name server.',
    labelNames: ['name_server'] as const,
    registers,
  });
  const delivered = new Histogram({
    name: 'tsigil_delivery_seconds',
    help: 'Time from the oldest change of a pass to its verification.',
    labelNames: ['name_server'] as const,
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const duration = new Histogram({
    name: 'tsigil_delivery_pass_duration_seconds',
    help: 'Duration of passes.',
    labelNames: ['name_server'] as const,
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  return {
    observe({ server: { name }, outcome, error, foundDrift, lagSeconds }, seconds) {
      const label = { name_server: name };
      passes.inc({ ...label, result: outcome });
      duration.observe(label, seconds);
      if (error !== null) failures.inc({ ...label, code: error.code });
      if (foundDrift) drift.inc(label);
      if (lagSeconds !== undefined && outcome !== 'failed') delivered.observe(label, lagSeconds);
    },
    addStatus: (store, status) => addStatusMetrics(registers, store, status),
  };
}

/** Adds the gauges of all name servers. They are omitted if the database does not respond. */
function addStatusMetrics(
  registers: [Metrics['registry']] | Metrics['registry'][],
  store: Store,
  status: Pick<DeliveryStatus, 'statuses'>,
): void {
  const gauge = (name: string, help: string, ...more: string[]) =>
    new Gauge({
      ...({ name: `tsigil_${name}`, help, aggregator: 'max', registers } as const),
      labelNames: ['name_server', ...more],
    });
  const wanted = gauge('delivery_keys_wanted', 'Keys that the name server should have.');
  const live = gauge('delivery_keys_live', 'Keys that were verified on the name server.');
  const oldest = gauge(
    'delivery_oldest_seconds',
    'Age of the oldest change that waits. 0 if none.',
  );
  const verified = gauge('delivery_verified_age_seconds', 'Time since all keys were verified.');
  const all = [wanted, live, oldest, verified];
  const query = { limit: MAX_LIMIT, sortField: 'created_at', descending: false, conditions: [] };
  new Gauge({
    name: 'tsigil_name_server_state',
    help: `1 for the present state of each name server: ${SERVER_STATES.join(', ')}.`,
    labelNames: ['name_server', 'state'] as const,
    aggregator: 'max',
    registers,
    async collect() {
      const servers = await store.list(nameServer, query).catch(() => []);
      const statuses = await status.statuses(servers.map(({ id }) => id)).catch(() => undefined);
      this.reset();
      for (const each of all) each.reset();
      if (statuses === undefined) return;
      const age = (stamp: string | null) =>
        stamp === null ? 0 : Math.max(0, Date.now() - Date.parse(`${stamp.slice(0, 23)}Z`)) / 1000;
      for (const stored of servers) {
        const server = withStatus(stored, statuses.get(stored.id));
        const label = { name_server: server.name };
        this.set({ ...label, state: server.state }, 1);
        wanted.set(label, server.keys_wanted);
        live.set(label, server.keys_live);
        oldest.set(label, age(server.pending_since));
        if (server.verified_at !== null) verified.set(label, age(server.verified_at));
      }
    },
  });
}
