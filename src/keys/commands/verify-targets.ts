import { parseDnsAddress } from '../../core/text/dns-address.ts';
import { KEY_GRANTS } from '../../resources/grants.ts';
import { nameServer } from '../../resources/name-server.ts';
import { pool as poolType } from '../../resources/pool.ts';
import { zone as zoneType } from '../../resources/zone.ts';
import type { Server } from './server-flags.ts';
import { call, callFor, orIfRefused, type Connection } from '../../cli/service/client.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import type { ServiceKey } from './key-requests.ts';
import { listItems, readEverywhere, type Item } from '../../cli/service/resource-requests.ts';

const CONCURRENCY = 8;

export interface Target {
  readonly key: ServiceKey;
  readonly server: Server;
  /** Undefined if the service has no zone for the key. */
  readonly zone: string | undefined;
}

/**
 * Returns which keys to verify against which name servers. Without `servers`, selects the name
 * servers of the pool to which the key or its zone belongs. Without `zone`, uses the zone of the
 * key, or one that its grants name, because Knot DNS denies to know a key in any other. For a key of
 * a whole pool, uses the name server's probe zone or a zone of the pool. Throws `CommandError`.
 */
export async function findTargets(
  connection: Connection,
  keys: readonly ServiceKey[],
  servers: readonly Server[] | undefined,
  zone: string | undefined,
): Promise<Target[]> {
  if (servers !== undefined && zone !== undefined)
    return keys.flatMap((key) => servers.map((server) => ({ key, server, zone })));
  const registered =
    servers === undefined ? await listItems(connection, nameServer, []) : undefined;
  const zones = createZones(connection);
  const targets = await mapConcurrently(keys, CONCURRENCY, async (key): Promise<Target[]> => {
    const isOfZone = key.scope === 'ZONE';
    const id = isOfZone ? key.resourceId : await grantedZone(connection, key, zone);
    const ofKey = id === undefined ? undefined : await zones.withId(id);
    const poolId = isOfZone ? ofKey?.pool_id : key.resourceId;
    const fallback = async () =>
      zone ??
      textOf(ofKey?.name) ??
      (key.scope === 'POOL' ? zones.ofPool(key.resourceId) : undefined);
    if (servers !== undefined) {
      const about = await fallback();
      return servers.map((server) => ({ key, server, zone: about }));
    }
    const wanted = (registered ?? []).filter((item) => item.pool_id === poolId);
    return mapConcurrently(wanted, 1, async (item) => ({
      key,
      server: serverOf(item),
      zone:
        (ofKey === undefined ? (zone ?? textOf(item.probe_zone)) : undefined) ?? (await fallback()),
    }));
  });
  return targets.flat();
}

/** Returns the id of a zone in which the key has rights, unless it has them in all, or `zone` is set. */
async function grantedZone(
  connection: Connection,
  { id }: ServiceKey,
  zone: string | undefined,
): Promise<string | undefined> {
  if (zone !== undefined) return undefined;
  const path = `/v2/tsigkeys/${id}/grants`;
  const grants = (await ifExists(() => callFor(KEY_GRANTS, connection, 'GET', path)))?.grants ?? [];
  if (grants.some(({ zones }) => zones === 'all')) return undefined;
  return grants.flatMap(({ zones }) => zones)[0];
}

function serverOf({ name, address }: Item): Server {
  const parsed = parseDnsAddress(String(address));
  return { text: String(name), ...(parsed ?? { host: String(address), port: 53 }) };
}

/** Reads zones and pools, each only once. */
function createZones(connection: Connection) {
  const cache = new Map<string, Promise<Item | undefined>>();
  const cached = (key: string, read: (from: Connection) => Promise<Item | undefined>) => {
    const reading = cache.get(key) ?? readEverywhere(connection, read);
    cache.set(key, reading);
    return reading;
  };
  const get = (collection: string, id: string) =>
    cached(`${collection} ${id}`, (from) =>
      ifExists(() => call(from, 'GET', `/v2/${collection}/${id}`)),
    );
  return {
    withId: (id: string) => get(zoneType.collection, id),
    async ofPool(poolId: string): Promise<string | undefined> {
      const first = await cached(`zone of ${poolId}`, async (from) => {
        const pool = await get(poolType.collection, poolId);
        // The filter accepts the name of a pool.
        const filters = [['pool', String(pool?.name)]] as const;
        return pool === undefined ? undefined : (await listItems(from, zoneType, filters, 1))[0];
      });
      return textOf(first?.name);
    },
  };
}

function ifExists<T>(send: () => Promise<T>): Promise<T | undefined> {
  return orIfRefused(send, [404, 405], () => undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
