import type { ServerState } from '../resources/name-server-status.ts';
import type { NameServer } from '../resources/name-server.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import type { Caller } from '../core/caller.ts';
import type { Fault } from '../core/fault.ts';
import type { KeyOnServer, ServerStatus } from './delivery-ports.ts';
import { DELIVERY_STATES, type DeliveryState, type ShownDeliveries } from './responses.ts';

const NO_PROCESS: Fault = {
  code: 'no_process',
  message:
    "no running process of the service has this name server in its setting 'nameServers'. Start a process with this name server in its configuration",
};

const NO_AGENT: Fault = {
  code: 'no_agent',
  message:
    'the agent of this name server is not reporting. Start the agent on its host: tsigil agent --config FILE',
};

function absent({ delivery }: Pick<NameServer, 'delivery'>): Fault {
  return delivery === 'agent' ? NO_AGENT : NO_PROCESS;
}

/**
 * Returns a name server with its live status. The state is `live` only if no change is pending and
 * a process or an agent serves the name server.
 */
export function withStatus(server: NameServer, status: ServerStatus | undefined): NameServer {
  const { isServed = false, pendingSince = null } = status ?? {};
  const state = stateOf(server, isServed, pendingSince);
  const failure = isServed || server.paused ? undefined : absent(server);
  return {
    ...server,
    state,
    pending_since: pendingSince,
    ...(failure === undefined ? {} : { error_code: failure.code, error: failure.message }),
  };
}

function stateOf(server: NameServer, isServed: boolean, pendingSince: string | null): ServerState {
  if (server.paused) return 'paused';
  if (!isServed) return 'failed';
  // Delivery was resumed, and its first pass has not ended.
  if (server.state === 'held' && server.held === null) return 'pending';
  return server.state === 'live' && pendingSince !== null ? 'pending' : server.state;
}

/** The errors whose messages the service writes. They concern only the key and the name server. */
const HARMLESS = ['paused', 'no_process', 'no_agent', 'undeliverable_key', 'unreadable_secret'];

/**
 * Returns deliveries as a caller sees them. The messages of a name server can name keys, zones and
 * files outside the limits of a caller.
 */
export function deliveriesFor(
  { limits }: Pick<Caller, 'limits'>,
  shown: ShownDeliveries,
): ShownDeliveries {
  if (limits === undefined) return shown;
  const servers = shown.servers.map(({ error, ...rest }) => ({
    ...rest,
    error:
      error === null || HARMLESS.includes(error.code)
        ? error
        : { ...error, message: 'only a token without limits shows the reason' },
  }));
  return { ...shown, servers };
}

/** Returns the state of a key on each name server, and the worst state for the key as a whole. */
export function deliveriesOf(
  key: Pick<Tsigkey, 'id' | 'version'>,
  places: readonly KeyOnServer[],
): ShownDeliveries {
  const servers = places.map((place) => shown(key, place));
  const worst = Math.max(...servers.map(({ state }) => DELIVERY_STATES.indexOf(state)));
  return {
    key_id: key.id,
    state: DELIVERY_STATES[worst] ?? 'none',
    version: key.version,
    servers,
  };
}

function shown(
  key: Pick<Tsigkey, 'version'>,
  place: KeyOnServer,
): ShownDeliveries['servers'][number] {
  const { server, delivery } = place;
  const [state, error] = keyStateOf(key, place);
  return {
    name_server: server.name,
    state,
    delivered_version:
      delivery?.state === 'undeliverable' || delivery?.state === 'held'
        ? 0
        : (delivery?.deliveredVersion ?? 0),
    applied_at: delivery?.appliedAt ?? null,
    verified_at: delivery?.verifiedAt ?? null,
    attempts: server.attempts,
    next_attempt_at: server.next_attempt_at,
    error,
  };
}

function pausedOn({ name }: NameServer): Fault {
  return {
    code: 'paused',
    message: `delivery to the name server is paused. To continue, run: tsigil nameserver set ${name} --paused false`,
  };
}

function keyStateOf(
  { version }: Pick<Tsigkey, 'version'>,
  { server, status, isWanted, isUntried, delivery }: KeyOnServer,
): [DeliveryState, Fault | null] {
  const ofServer: Fault | null =
    server.error_code === null
      ? null
      : { code: server.error_code, message: server.error ?? server.error_code };
  if (!status.isServed && !server.paused) return ['failed', absent(server)];
  if (!isWanted || delivery?.state === 'removing')
    return server.paused ? ['paused', pausedOn(server)] : ['removing', ofServer];
  if (delivery?.state === 'undeliverable' && delivery.deliveredVersion === version)
    return ['undeliverable', delivery.error];
  if (server.held !== null && delivery?.state === 'held' && delivery.deliveredVersion === version)
    return ['held', ofServer];
  const isDelivered = delivery?.state === 'delivered' && delivery.deliveredVersion === version;
  if (server.paused && !isDelivered) return ['paused', pausedOn(server)];
  if (isUntried && !isDelivered) return ['pending', null];
  if (server.state === 'open') return ['failed', ofServer];
  if (isDelivered && delivery.error === null) return ['delivered', null];
  if (isDelivered || delivery?.state === 'failed') return ['failed', delivery.error];
  return server.attempts > 0 || server.state === 'blocked'
    ? ['failed', ofServer]
    : ['pending', server.state === 'prepared' ? ofServer : null];
}
