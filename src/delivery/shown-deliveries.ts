import type { NameServer } from '../resources/name-server.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import type { Caller } from '../core/caller.ts';
import type { Fault } from '../core/fault.ts';
import { unservedFault } from '../resources/operations/live-status.ts';
import type { KeyOnServer } from './delivery-ports.ts';
import { DELIVERY_STATES, type DeliveryState, type ShownDeliveries } from './responses.ts';

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
  if (!status.isServed && !server.paused) return ['failed', unservedFault(server)];
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
