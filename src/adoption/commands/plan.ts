import type { Row, ServerConfiguration } from '../../access/access.ts';
import type { RightChange } from '../../access/changes.ts';
import { zonesText } from '../../access/warnings.ts';
import { RIGHTS, type Right } from '../../access/rights.ts';
import { testPorts } from '../../dns/test-ports.ts';
import type { Check } from '../../dns/key-check.ts';
import { canonicalKey, isSameKey, type Key } from '../../formats/key.ts';
import { grantsIn, KEY_GRANTS } from '../../resources/grants.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import { parseDnsAddress } from '../../core/text/dns-address.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { shellCommand } from '../../core/text/shell-word.ts';
import { NetError } from '../../net/faults.ts';
import { findOpenRights, probeKey } from '../../net/probe.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { callFor, type Connection } from '../../cli/service/client.ts';
import { keyOf } from '../../keys/commands/key-requests.ts';
import { listItems, type Item } from '../../cli/service/resource-requests.ts';
import { planAccess, type AccessPlan } from '../../keys/commands/access-import.ts';
import type { KeySource } from '../../keys/commands/key-file.ts';

interface AdoptedServer {
  readonly pool_id: string;
  readonly rights: readonly Right[];
}

/** A key, with its id in the service if that has the key. */
interface AdoptedKey extends Key {
  readonly id?: string | undefined;
}

/** What an adoption moves from the configuration of a name server to Tsigil. */
export interface Adoption {
  readonly keys: readonly AdoptedKey[];
  readonly rows: readonly Row[];
  /** Why nothing may move yet, as sentences: what differs between the server and the service. */
  readonly problems: readonly string[];
  /** The keys that only the service has, and what they would open, as sentences. */
  readonly gained: readonly string[];
  /** What stays in the configuration of the server, with its place and the reason. */
  readonly left: readonly string[];
}

/**
 * Compares the keys and rights of a name server with those in the service. A key moves if the
 * service has it with the same algorithm and secret, and with the rights that it has on the server.
 * Throws `CommandError`.
 */
export async function planAdoption(
  connection: Connection,
  server: AdoptedServer,
  source: Pick<KeySource, 'keys'> & { readonly configuration: ServerConfiguration },
): Promise<Adoption> {
  const { configuration } = source;
  const items = await listItems(connection, tsigkey, []);
  const access = await planAccess(
    connection,
    configuration,
    { scope: 'POOL', resourceId: server.pool_id, update: false },
    { widen: [], createZones: false },
  );
  const service = serviceKeys(connection, server, configuration, items, access);
  const { keys, problems, left } = await movingKeys(source.keys, service);
  const gained = await gainsOf(configuration, service);
  const rows = access.matrix.rows.flatMap((row): Row[] => {
    const zones = row.zones.filter((zone) => !access.missing.includes(zone));
    if (!keys.has(row.key) || zones.length === 0) return [];
    if (server.rights.includes(row.right)) return [{ ...row, zones }];
    left.push(
      `${row.right} of ${zonesText(zones)} by '${row.key}': the name server has not this right`,
    );
    return [];
  });
  if (access.missing.length > 0)
    left.push(`rights in zones that the service does not have: ${zonesText(access.missing)}`);
  for (const { key, right, zones, reason, place } of access.kept)
    left.push(`${place}: ${right} of ${zonesText(zones)} by '${key}': ${reason}`);
  for (const { key, role, place } of configuration.references)
    if (keys.has(key)) left.push(`${place}: a line that names the key '${key}' (${role})`);
  return { keys: [...keys.values()], rows, problems, gained, left };
}

type Change = Pick<RightChange, 'right' | 'before' | 'after'>;

/** The keys of the service, and what they may do in zones of a name server. */
interface ServiceKeys {
  readonly byName: ReadonlyMap<string, Item>;
  /**
   * Returns the name of the only zone of a key, an empty text for a key of the pool, and undefined
   * for a key of another pool.
   */
  scopeOf(item: Item): string | undefined;
  /** Returns the rights of a key before and after the adoption. `zone` is what `scopeOf` returns. */
  changesOf(name: string, item: Item, zone: string): Promise<readonly Change[]>;
}

function serviceKeys(
  connection: Connection,
  server: AdoptedServer,
  configuration: ServerConfiguration,
  items: readonly Item[],
  access: AccessPlan,
): ServiceKeys {
  const served = new Set(configuration.zones.map(({ name }) => name));
  const zoneNames = new Map([...access.zoneIds].map(([name, id]) => [id, name]));
  return {
    byName: new Map(items.map((item) => [comparisonForm(String(item.name)), item])),
    scopeOf({ scope, resource_id: id }) {
      if (scope === 'ZONE') return zoneNames.get(String(id));
      return id === server.pool_id ? '' : undefined;
    },
    async changesOf(name, item, zone) {
      const path = `/v2/tsigkeys/${String(item.id)}/grants`;
      const { grants } = await callFor(KEY_GRANTS, connection, 'GET', path);
      return access
        .changesOf(name, grants && grantsIn(grants))
        .filter(({ right }) => server.rights.includes(right))
        .map(({ right, before, after }) => ({
          right,
          before: before.filter((each) => !access.missing.includes(each)),
          after: after.filter((each) => served.has(each) && (zone === '' || each === zone)),
        }));
    },
  };
}

async function movingKeys(
  sources: KeySource['keys'],
  { byName, scopeOf, changesOf }: ServiceKeys,
): Promise<{ keys: Map<string, AdoptedKey>; problems: string[]; left: string[] }> {
  const keys = new Map<string, AdoptedKey>();
  const [problems, left]: [string[], string[]] = [[], []];
  for (const { place, found } of sources) {
    if (!('key' in found)) {
      left.push(`${place}: ${'leftOut' in found ? found.leftOut : found.problem}`);
      continue;
    }
    const key = canonicalKey(found.key);
    const { name } = key;
    const item = byName.get(name);
    const zone = item && scopeOf(item);
    if (item === undefined || zone === undefined) {
      const twin = [...byName.values()].find((each) => each.secret === key.secret);
      const also = twin === undefined ? '' : `, but its secret is that of '${String(twin.name)}'`;
      const reason = item === undefined ? 'is not in the service' : 'belongs to another pool';
      left.push(`${place}: the key '${name}' ${reason}${also}`);
    } else if (!isSameKey(keyOf(item), key))
      problems.push(
        `The key '${name}' has another secret or algorithm at ${place} than in the service.`,
      );
    else if (!keys.has(name)) {
      keys.set(name, { ...key, id: String(item.id) });
      problems.push(...differencesIn(name, await changesOf(name, item, zone)));
    }
  }
  return { keys, problems, left };
}

function differencesIn(name: string, changes: readonly Change[]): string[] {
  return changes.flatMap(({ right, before, after }) => {
    const more = after.filter((each) => !before.includes(each));
    const less = before.filter((each) => !after.includes(each));
    return [
      ...differs(name, right, more, 'in the service, but not on the name server'),
      ...differs(name, right, less, 'on the name server, but not in the service'),
    ];
  });
}

async function gainsOf(
  configuration: ServerConfiguration,
  { byName, scopeOf, changesOf }: ServiceKeys,
): Promise<readonly string[]> {
  const gains: string[] = [];
  const present = new Set(configuration.keys.map(({ key }) => comparisonForm(key.name)));
  for (const [name, item] of byName) {
    const zone = scopeOf(item);
    if (present.has(name) || zone === undefined) continue;
    for (const { right, after } of await changesOf(name, item, zone))
      if (after.length > 0)
        gains.push(
          `The key '${name}' is only in the service, and would gain the right to ${right} ${zonesText(after)}. To let it open nothing until the server is adopted, run: ${shellCommand('tsigil tsigkey grants', name, '--none')}`,
        );
  }
  return gains;
}

function differs(key: string, right: Right, zones: readonly string[], where: string): string[] {
  if (zones.length === 0) return [];
  return [`The key '${key}' has the right to ${right} ${zonesText(zones)} ${where}.`];
}

/** A request to a name server, whose response must be the same before and after an edit. */
interface Probe {
  readonly key: AdoptedKey;
  readonly check: Check;
  readonly zone: string;
}

/**
 * Returns requests that show the rights of keys: with each key, one that the server must accept and
 * one that it must refuse, for each right.
 */
function probesOf({ keys, rows, zones }: Observed): Probe[] {
  return keys.flatMap((key) => {
    const [first] = zones;
    const own = RIGHTS.flatMap((right): Probe[] => {
      const permitted = new Set(
        rows.flatMap((row) => (row.key === key.name && row.right === right ? row.zones : [])),
      );
      const [inside] = permitted;
      const outside = zones.find((zone) => !permitted.has(zone));
      return [inside, outside].flatMap((zone) =>
        zone === undefined ? [] : [{ key, check: right, zone }],
      );
    });
    return first === undefined ? own : [...own, { key, check: 'query', zone: first }];
  });
}

export interface Observed {
  readonly keys: readonly AdoptedKey[];
  readonly rows: readonly Row[];
  readonly zones: readonly string[];
}

/** The number of zones with unsigned requests. */
const OPEN_ZONES = 10;
/** BIND serves 10 transfers at a time, and others must not have to wait. */
const CONCURRENCY = 2;
const TIMEOUTS = { tries: 3, seconds: 3 };

/**
 * Sends a name server requests with and without keys, which change nothing. Returns each request,
 * and whether the server accepts it. Throws `CommandError` if it does not respond.
 */
export async function observe(
  address: string,
  observed: Observed,
  now: () => number,
): Promise<ReadonlyMap<string, boolean>> {
  const server = parseDnsAddress(address) ?? { host: address, port: 53 };
  const learned = { serials: new Map<string, number>() };
  const signed = await mapConcurrently(probesOf(observed), CONCURRENCY, async (probe) => {
    const { key, check, zone } = probe;
    const { id, secret } = key;
    const probed = () => {
      const ports = id === undefined ? [] : testPorts({ id, secret }, now());
      const target = { server, zone, learned, ports };
      return probeKey(key, check, target, now, TIMEOUTS);
    };
    const first = await probed();
    // NSD resets some connections while it replaces its processes.
    const { verdict, reason } = first.verdict === 'no response' ? await probed() : first;
    if (verdict === 'no response') throw silent(address, reason);
    const request = `${check === 'query' ? 'a query' : check} of ${zone} with the key '${key.name}'`;
    return [request, verdict === 'good'] as const;
  });
  const zones = observed.zones.slice(0, OPEN_ZONES);
  const unsigned = await mapConcurrently(zones, CONCURRENCY, async (zone) => {
    const open = await findOpenRights({ server, zone }, TIMEOUTS).catch((error: unknown) => {
      throw error instanceof NetError ? silent(address, error.message) : error;
    });
    return RIGHTS.map(
      (right) => [`${right} of ${zone} without a key`, open.includes(right)] as const,
    );
  });
  return new Map([...signed, ...unsigned.flat()]);
}

function silent(address: string, reason: string): CommandError {
  return new CommandError(
    EXIT.unreachable,
    `The name server at ${address} does not respond: ${reason}`,
    'Check its address in Tsigil, and run the command on a machine that it answers.',
  );
}
