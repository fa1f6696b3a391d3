import { randomUUID } from 'node:crypto';
import { LIMIT_KINDS, type LimitKind } from '../../src/core/caller.ts';
import type { Client } from './client.ts';

/** The ids of resources inside and outside the limits of tokens, by type. */
export interface Estate {
  readonly pools: readonly [inside: string, outside: string];
  readonly zones: readonly [inside: string, outside: string];
  /** Keys with scope POOL. */
  readonly poolKeys: readonly [inside: string, outside: string];
  /** Keys with scope ZONE. */
  readonly zoneKeys: readonly [inside: string, outside: string];
  /** Name servers whose keys agents deliver. */
  readonly nameServers: readonly [inside: string, outside: string];
}

/** The project that owns the zones. */
export const PROJECT = 'project-of-limits';

/**
 * Creates a pool, a zone, two keys and a name server inside the limits of tokens. Creates the same
 * number of each outside these limits.
 */
export async function createEstate(admin: Client): Promise<Estate> {
  const make = async (path: string, body: object) => {
    const response = await admin.post(path, body, { 'x-auth-sudo-project-id': PROJECT });
    if (response.status >= 300) throw new Error(response.text);
    return String(response.body.id);
  };
  const half = async (name: 'inside' | 'outside') => {
    const suffix = `${name}-${randomUUID().slice(0, 8)}`;
    const pool = await make('/v2/pools', { name: suffix });
    const zone = await make('/v2/zones', {
      name: `${suffix}.example.`,
      email: 'hostmaster@example.org',
      pool_id: pool,
    });
    const key = (scope: string, id: string) => ({
      name: `${scope.toLowerCase()}-${suffix}`,
      algorithm: 'hmac-sha256',
      scope,
      resource_id: id,
    });
    const poolKey = await make('/v2/tsigkeys', key('POOL', pool));
    const zoneKey = await make('/v2/tsigkeys', key('ZONE', zone));
    const nameServer = await make('/v2/nameservers', {
      name: suffix,
      pool_id: pool,
      driver: 'bind',
      address: '192.0.2.53',
      delivery: 'agent',
    });
    return { pool, zone, poolKey, zoneKey, nameServer };
  };
  const [inside, outside] = [await half('inside'), await half('outside')];
  return {
    pools: [inside.pool, outside.pool],
    zones: [inside.zone, outside.zone],
    poolKeys: [inside.poolKey, outside.poolKey],
    zoneKeys: [inside.zoneKey, outside.zoneKey],
    nameServers: [inside.nameServer, outside.nameServer],
  };
}

/** Returns the member that limits a token to the inside resources, for each kind of limit. */
export function limitsTo({
  pools,
  zones,
  poolKeys,
  nameServers,
}: Estate): Record<LimitKind, object> {
  return {
    pools: { pools: [pools[0]] },
    zones: { zones: [zones[0]] },
    keys: { keys: [poolKeys[0]] },
    nameservers: { nameservers: [nameServers[0]] },
  };
}

/**
 * Creates a token and returns a client with the token. `members` adds or replaces members of the
 * request body. The default role is `admin`.
 */
export async function tokenWith(admin: Client, members: object): Promise<Client> {
  const body = { name: randomUUID(), roles: ['admin'], project_id: PROJECT, ...members };
  const response = await admin.post('/v2/tokens', body);
  if (response.status !== 201) throw new Error(response.text);
  return admin.with(String(response.body.token));
}

/** Returns a client with a limited token for each kind of limit. */
export async function limitedTokens(
  admin: Client,
  estate: Estate,
): Promise<Record<LimitKind, Client>> {
  const clients: [LimitKind, Client][] = [];
  for (const kind of LIMIT_KINDS)
    clients.push([kind, await tokenWith(admin, limitsTo(estate)[kind])]);
  return Object.fromEntries(clients) as Record<LimitKind, Client>;
}
