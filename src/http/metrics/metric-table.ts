import { REPORTING_UNKNOWN_KEYS } from '../../brands/brands.ts';
import type { withStatus } from '../../delivery/status.ts';
import type { EncryptionStatus } from '../../secrets/encryption-status.ts';
import { LIFECYCLE_STATES, WAITING_REASONS } from '../../resources/lineage.ts';
import { SERVER_STATES } from '../../resources/name-server-status.ts';
import { millisecondsOf } from '../../core/text/timestamps.ts';

const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What the process counts as it happens: a histogram if it has buckets, otherwise a counter. */
export const COUNTED = {
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
  tsigil_keystone_validation_duration_seconds: {
    help: 'Duration of token validations with Keystone, including all retries, by outcome (valid, refused, unavailable).',
    labels: ['outcome'],
    buckets: REQUEST_BUCKETS.slice(2),
  },
  tsigil_keystone_cache_hits_total: {
    help: 'Requests whose token validation was cached, by cached outcome (valid, refused).',
    labels: ['outcome'],
  },
  tsigil_forged_credentials_total: {
    help: 'Requests with a token that another program stored or changed in the database.',
  },
  tsigil_audit_records_total: {
    help: 'Audit records that the service wrote, by outcome (success, denied, failed).',
    labels: ['outcome'],
  },
  tsigil_audit_repairs_total: {
    help: 'Number of times that the service found that another program had deleted, changed or set back the head of the audit trail.',
  },
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
} as const satisfies Record<string, CountedMetric>;

export interface CountedMetric {
  readonly help: string;
  readonly labels?: readonly string[];
  readonly buckets?: readonly number[];
}

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

export const ENCRYPTION_GAUGES: readonly DatabaseGauge<EncryptionStatus>[] = [
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
];

export interface TrailState {
  readonly unsealed: number;
  /** The time of the oldest record without a batch, in the timestamp format of the API. */
  readonly oldest: string | undefined;
  readonly lastBatch: number;
}

export const TRAIL_GAUGES: readonly DatabaseGauge<TrailState>[] = [
  {
    name: 'tsigil_audit_unsealed_records',
    help: 'Audit records that are not sealed in a batch yet.',
    valueOf: ({ unsealed }) => unsealed,
  },
  {
    name: 'tsigil_audit_unsealed_age_seconds',
    help: 'Age of the oldest audit record that is not sealed in a batch yet.',
    valueOf: ({ oldest }) => ageSeconds(oldest),
  },
  {
    name: 'tsigil_audit_last_batch',
    help: 'Number of the last batch of the audit trail.',
    valueOf: ({ lastBatch }) => lastBatch,
  },
];

export interface RotationState {
  readonly states: ReadonlyMap<string, number>;
  /** The rotations that wait, and the time since when the first of them does, by the reason. */
  readonly waits: ReadonlyMap<string, { readonly count: number; readonly since: string }>;
  /** The number of retired keys that a client still uses. */
  readonly used: number;
  /** The number of keys that expire within so many days. */
  readonly expiring: ReadonlyMap<number, number>;
  readonly oldest: string | undefined;
}

export const ROTATION_GAUGES: readonly DatabaseGauge<RotationState>[] = [
  {
    name: 'tsigil_tsigkeys',
    help: `Keys by their state: ${LIFECYCLE_STATES.join(', ')}.`,
    labelNames: ['state'],
    valueOf: ({ states }) =>
      LIFECYCLE_STATES.map((state) => [{ state }, states.get(state) ?? 0] as const),
  },
  {
    name: 'tsigil_rotations_waiting',
    help: `Rotations of keys that cannot go on by themselves, by reason: ${WAITING_REASONS.join(', ')}.`,
    labelNames: ['reason'],
    valueOf: ({ waits }) =>
      WAITING_REASONS.map((reason) => [{ reason }, waits.get(reason)?.count ?? 0] as const),
  },
  {
    name: 'tsigil_rotations_waiting_seconds',
    help: 'How long the rotation that has waited longest has waited, by reason. 0 if none waits.',
    labelNames: ['reason'],
    valueOf: ({ waits }) =>
      WAITING_REASONS.map((reason) => [{ reason }, ageSeconds(waits.get(reason)?.since)] as const),
  },
  {
    name: 'tsigil_tsigkeys_used_after_retirement',
    help: 'Retired keys that a client still uses, until they are restored or destroyed.',
    valueOf: ({ used }) => used,
  },
  {
    name: 'tsigil_tsigkeys_expiring',
    help: 'Keys without successor that expire within a time: their own, or by tsigkeys.maxAgeDays.',
    labelNames: ['within'],
    valueOf: ({ expiring }) =>
      [...expiring].map(([days, count]) => [{ within: `${days}d` }, count] as const),
  },
  {
    name: 'tsigil_tsigkey_age_seconds_max',
    help: 'Age of the oldest secret of a key.',
    valueOf: ({ oldest }) => ageSeconds(oldest),
  },
];

type ServerState = ReturnType<typeof withStatus>;

/** A gauge with one series for each name server for which `valueOf` returns a number. */
const perServer = (
  name: string,
  help: string,
  valueOf: (server: ServerState) => number | undefined,
): DatabaseGauge<readonly ServerState[]> => ({
  name,
  help,
  labelNames: ['name_server'],
  valueOf: (servers) =>
    servers.flatMap((server) => {
      const value = valueOf(server);
      return value === undefined ? [] : [[{ name_server: server.name }, value]];
    }),
});

export const NAME_SERVER_GAUGES: readonly DatabaseGauge<readonly ServerState[]>[] = [
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

/** Returns the age of an API timestamp in seconds. Returns 0 for a missing or future timestamp. */
function ageSeconds(timestamp: string | null | undefined): number {
  return timestamp == null ? 0 : Math.max(0, Date.now() - millisecondsOf(timestamp)) / 1000;
}
