import type { Finding } from '../../domain/access/access.ts';
import { keyFindings } from '../../domain/access/warnings.ts';
import { ALGORITHM_NAMES } from '../../domain/dns/algorithms.ts';
import type { Key } from '../../domain/key-formats/key.ts';
import { nameServer } from '../../domain/resources/name-server.ts';
import { keyWarnings } from '../../domain/resources/tsigkey.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { firstOf } from '../../domain/text/first-of.ts';
import { orIfRefused, type Connection } from '../service/client.ts';
import { listItems, type Item } from '../service/resource-requests.ts';
import type { KeySource } from './key-file.ts';
import { definedKeys, zonesOf, type KeyImport } from './key-import.ts';

/**
 * The number of name servers that may have a key without a warning. A key is meant for one pair of
 * servers, because whoever reads it on one of its servers can use it on all of them.
 */
const MAX_SERVERS = 2;

const SHOWN_NAMES = 10;

/**
 * Returns what needs a person in the keys of an import, also in those that it leaves out. `existing`
 * are the keys of the service. Changes nothing.
 */
export async function importFindings(
  connection: Connection,
  { keys, configuration }: Omit<KeySource, 'unread'>,
  existing: readonly Item[],
  wanted: KeyImport,
): Promise<Finding[]> {
  const imported = definedKeys(keys);
  const others = existing.map(({ name, secret }) => ({
    name: String(name),
    secret: String(secret),
  }));
  return [
    ...keyFindings(configuration?.keys ?? imported, others, weaknessesOf),
    ...(await sharedKeys(connection, imported, existing, wanted)),
  ];
}

function weaknessesOf(key: Key): readonly string[] {
  const algorithm = ALGORITHM_NAMES.find((name) => name === key.algorithm);
  return algorithm === undefined ? [] : keyWarnings({ ...key, algorithm });
}

/**
 * Returns a finding for the keys that the same name servers have, if these are more than a pair. A
 * name server has the keys of its pool, and other keys with the same secret are the same key.
 */
async function sharedKeys(
  connection: Connection,
  keys: ReturnType<typeof definedKeys>,
  existing: readonly Item[],
  wanted: KeyImport,
): Promise<Finding[]> {
  const servers = await optional(() => listItems(connection, nameServer, []));
  if (servers === undefined || servers.length <= MAX_SERVERS) return [];
  const zones = (await optional(() => zonesOf(connection))) ?? [];
  const pools = new Map(zones.map(({ id, pool_id: pool }) => [id, pool]));
  const poolOf = ({ scope: own, resource_id: id }: Item) => (own === 'POOL' ? id : pools.get(id));
  const groups = new Map<string, { readonly names: Set<string>; readonly reached: string[] }>();
  const byName = new Map(existing.map((item) => [comparisonForm(String(item.name)), item]));
  const bySecret = new Map<unknown, Item[]>();
  for (const item of existing) {
    const same = bySecret.get(item.secret) ?? [];
    same.push(item);
    bySecret.set(item.secret, same);
  }
  for (const { key, appliesTo } of keys) {
    const { scope, resourceId } = { ...wanted, ...appliesTo };
    const own = byName.get(comparisonForm(key.name));
    const same = bySecret.get(key.secret) ?? [];
    const all = [own ?? { scope, resource_id: resourceId }, ...same];
    const ids = new Set(all.map(poolOf));
    const reached = servers
      .flatMap(({ name, pool_id: id }) => (ids.has(id) ? [String(name)] : []))
      .sort();
    const group = groups.get(reached.join()) ?? { names: new Set(), reached };
    groups.set(reached.join(), group);
    group.names.add(key.name);
  }
  return [...groups.values()]
    .filter(({ reached }) => reached.length > MAX_SERVERS)
    .map(({ names, reached }) => {
      const text = (texts: readonly string[]) => firstOf(texts, SHOWN_NAMES, String).join(', ');
      const [each, it] = names.size === 1 ? ['this key', 'it'] : ['each of these keys', 'one'];
      return {
        kind: 'shared_key',
        place: 'keys',
        text: `${text([...names])}: ${reached.length} name servers have ${each} (${text(reached)}), and whoever reads ${it} there can use it on all of them; a key is meant for one pair of servers`,
      };
    });
}

/** Returns a response, or undefined if the caller may not see it, or the service has none. */
function optional<T>(read: () => Promise<T>): Promise<T | undefined> {
  return orIfRefused(read, [401, 403, 404], () => undefined);
}
