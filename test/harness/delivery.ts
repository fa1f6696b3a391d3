import { expect, vi } from 'vitest';
import { rightsOf } from '../../src/brands/brand.ts';
import { BRANDS } from '../../src/brands/brands.ts';
import type { DesiredKey } from '../../src/brands/desired-state.ts';
import type { Right } from '../../src/access/rights.ts';
import { probeKey } from '../../src/net/probe.ts';
import type { Brand } from './brands/brand.ts';
import type { Client } from './client.ts';
import { startDrivenServer, ZONES, type DrivenServer } from './driven-server.ts';

export const DEFAULT_POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';

/** A running name server to which a service delivers keys. */
export interface DeliveryServer extends DrivenServer {
  readonly name: string;
  readonly brand: Brand;
  readonly rights: readonly Right[];
  /** The entry of the server in the setting `nameServers`. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/** Starts a name server to which a service can deliver keys. `zones` must include `ZONES`. */
export async function startDeliveryServer(
  brand: Brand,
  name = 'ns1',
  zones: readonly string[] = ZONES,
): Promise<DeliveryServer> {
  const server = await startDrivenServer(brand, zones);
  const rights = rightsOf(BRANDS[brand.driver]);
  return {
    ...server,
    name,
    brand,
    rights,
    entry: {
      name,
      driver: brand.driver,
      rights,
      local: brand.options(server),
      address: `127.0.0.1:${server.address.port}`,
      probeZone: `${ZONES[0]}.`,
    },
  };
}

/** Returns the environment variable that configures `nameServers`. */
export function delivering(...servers: readonly Pick<DeliveryServer, 'entry'>[]) {
  return { TSIGIL_NAME_SERVERS: JSON.stringify(servers.map(({ entry }) => entry)) };
}

/** A key that the service has created. */
export type CreatedKey = Pick<DesiredKey, 'id' | 'name' | 'algorithm' | 'secret'>;

/** The delivery status of a key, as the API returns it. */
export interface ShownKey {
  readonly state: string;
  readonly version: number;
  readonly servers: readonly {
    readonly name_server: string;
    readonly state: string;
    readonly delivered_version: number;
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
}

/** A name server, as the API returns it. */
export interface ShownServer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly error_code: string | null;
  readonly error: string | null;
  readonly keys_wanted: number;
  readonly keys_live: number;
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  readonly pending_since: string | null;
  readonly applied_at: string | null;
  readonly verified_at: string | null;
}

/** Creates zones in a service. */
export async function createZones(
  { with: as, token }: Client,
  zones: readonly string[] = ZONES,
): Promise<void> {
  const project = as(token);
  for (const zone of zones)
    await project.post('/v2/zones', { name: `${zone}.`, email: 'hostmaster@a.test' });
}

/** Creates a key for all zones of the default pool. `more` adds or replaces members. */
export async function createKey(client: Client, name: string, more: object = {}) {
  const { status, body, text } = await client.post('/v2/tsigkeys', {
    name,
    algorithm: 'hmac-sha256',
    scope: 'POOL',
    resource_id: DEFAULT_POOL,
    ...more,
  });
  if (status !== 201) throw new Error(`The key was not created: ${text}`);
  return body as CreatedKey;
}

/** Returns the members that a key for one zone needs: `scope` and `resource_id`. */
export async function inZone(client: Client, zone: string): Promise<object> {
  const { body } = await client.get(`/v2/zones?name=${zone}.`, { 'x-auth-all-projects': 'true' });
  return {
    scope: 'ZONE',
    resource_id: (body as { zones: { id: string }[] }).zones[0]?.id,
  };
}

/**
 * Returns the delivery status of a key once it is final, or after at most `wait` seconds, by
 * default the longest wait that the API permits.
 */
export async function deliveries(client: Client, id: string, wait = 30): Promise<ShownKey> {
  return (await client.get(`/v2/tsigkeys/${id}/deliveries?wait=${wait}`)).body as ShownKey;
}

/** Returns a name server of a service by its name. */
export async function shownServer(client: Client, name = 'ns1'): Promise<ShownServer> {
  const { body } = await client.get(`/v2/nameservers?name=${name}`);
  const [found] = (body as { nameservers: ShownServer[] }).nameservers;
  if (found === undefined) throw new Error(`The service has no name server '${name}'`);
  return found;
}

/** Sends a request signed with `key` to a name server, and returns the verdict of the probe. */
export async function verdictOf(
  { address }: Pick<DrivenServer, 'address'>,
  key: CreatedKey,
  { right = 'transfer', zone = ZONES[0] }: { right?: Right; zone?: string } = {},
): Promise<string> {
  for (let tries = 3; ; tries -= 1) {
    const { verdict } = await probeKey(key, right, { server: address, zone }, Date.now);
    // On a busy machine, a server may respond late.
    if (verdict !== 'no response' || tries === 1) return verdict;
  }
}

/** Waits until the service reports these name servers as live. By default, waits for `ns1`. */
export async function untilLive(client: Client, ...names: readonly string[]): Promise<void> {
  for (const name of names.length === 0 ? ['ns1'] : names)
    await vi.waitFor(
      async () => expect(await shownServer(client, name)).toMatchObject({ state: 'live' }),
      { timeout: 120_000 }, // runs in hooks too, in which expect.poll does not work
    );
}
