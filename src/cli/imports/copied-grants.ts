import { firstOf } from '../../domain/text/first-of.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { grantList, grantsIn, KEY_GRANTS, type Grant } from '../../domain/resources/grants.ts';
import { zone } from '../../domain/resources/zone.ts';
import { call, callFor, type Connection } from '../service/client.ts';
import { CommandError } from '../output/command-error.ts';
import type { Report } from '../output/import-report.ts';
import { listItems, readEverywhere, type Item } from '../service/resource-requests.ts';

/** Grants of a key in canonical form, or null for a key without any. */
type KeyGrants = readonly Grant[] | null;

const SHOWN_NAMES = 10;

/**
 * Returns keys of `source` with what they open in `target`: the same zones, found by their names.
 * Leaves out zones that the scope of a key does not have there, and reports them. Returns the keys
 * of a service without grants as they are.
 */
export async function withCopiedGrants(
  source: Connection,
  target: Connection,
  keys: readonly Item[],
  report: Report,
): Promise<Item[]> {
  const grants = await grantsOf(source, keys);
  const namesZones = [...grants.values()].some((some) =>
    some?.some(({ zones }) => zones !== 'all'),
  );
  const names = new Map(
    (namesZones ? await zonesOf(source) : []).map(({ id, name }) => [
      id,
      comparisonForm(String(name)),
    ]),
  );
  const inTarget = new Map(
    (namesZones ? await zonesOf(target) : []).map((each) => [
      comparisonForm(String(each.name)),
      each,
    ]),
  );
  return keys.map((key) => {
    const own = grants.get(key.id);
    if (own === undefined || own === null) return own === undefined ? key : { ...key, grants: own };
    const left = new Set<string>();
    const idOf = (id: string): string[] => {
      const found = inTarget.get(names.get(id) ?? '');
      if (found !== undefined && found[key.scope === 'POOL' ? 'pool_id' : 'id'] === key.resource_id)
        return [String(found.id)];
      left.add(names.get(id) ?? id);
      return [];
    };
    const mapped = own.map(({ rights, zones }) => ({
      rights,
      zones: zones === 'all' ? zones : zones.flatMap(idOf),
    }));
    if (left.size > 0) {
      const listed = firstOf([...left], SHOWN_NAMES, String).join(', ');
      const text = `${String(key.name)}: it gets no rights in zones that its scope does not have here: ${listed}`;
      report.add('warning', text, String(key.id));
    }
    return { ...key, grants: grantList(grantsIn(mapped)) };
  });
}

/** Returns the grants of keys by their ids, or none of a service without grants. */
export async function grantsOf(
  connection: Connection,
  keys: readonly Item[],
): Promise<Map<unknown, KeyGrants>> {
  const found = new Map<unknown, KeyGrants>();
  for (const { id } of keys) {
    const path = `/v2/tsigkeys/${String(id)}`;
    try {
      found.set(id, (await callFor(KEY_GRANTS, connection, 'GET', `${path}/grants`)).grants);
    } catch (error) {
      const isAbsent = error instanceof CommandError && [404, 405].includes(error.status ?? 0);
      if (!isAbsent || found.size > 0) throw error;
      // A key that was deleted meanwhile is no service without grants.
      await call(connection, 'GET', path);
      break;
    }
  }
  return found;
}

/** Returns all zones that the caller may see. */
export function zonesOf(connection: Connection): Promise<Item[]> {
  return readEverywhere(connection, (from) => listItems(from, zone, []));
}
