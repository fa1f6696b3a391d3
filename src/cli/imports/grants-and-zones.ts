import { KEY_GRANTS, type Grant } from '../../domain/resources/grants.ts';
import { zone } from '../../domain/resources/zone.ts';
import { call, callFor, type Connection } from '../service/client.ts';
import { CommandError } from '../output/command-error.ts';
import { listItems, readEverywhere, type Item } from '../service/resource-requests.ts';

/** Grants of a key in canonical form, or null for a key without any. */
type KeyGrants = readonly Grant[] | null;

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
