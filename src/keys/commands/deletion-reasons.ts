import type { ResourceType } from '../../core/resource.ts';
import { nameServer } from '../../resources/name-server.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { zone } from '../../resources/zone.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { nameFormOf } from '../../cli/flags/names.ts';
import { call, ifReadable, type Connection } from '../../cli/service/client.ts';
import { findPath, listItems, withoutSecrets } from '../../cli/service/resource-requests.ts';
import { removingFrom } from '../../delivery/commands/deliveries.ts';
import { openingKeys } from './grants.ts';

const SHOWN = 10;

type Reason = (connection: Connection, path: string, name: string) => Promise<string | undefined>;

/** Asks for a reason for each resource, except for those that cannot be found or read. */
function reasonsFor(type: ResourceType, reasonFor: Reason) {
  return async (connection: Connection, names: readonly string[]) => {
    const reasons: string[] = [];
    for (const name of names) {
      const reason = await ifReadable(async () => {
        const path = await findPath(connection, type, name, nameFormOf(type));
        return reasonFor(connection, path, name);
      });
      if (reason !== undefined) reasons.push(reason);
    }
    return reasons.length === 0 ? undefined : reasons.join(' ');
  };
}

export const SERVER_DELETION = {
  asks: 'when keys stay on a name server',
  reason: reasonsFor(nameServer, async (connection, path) => {
    const server = await call(connection, 'GET', path);
    const name = String(server.name);
    const deleted = await removingFrom(connection, name);
    if (server.keys_live === 0 && deleted.length === 0) return undefined;
    const { keys, more } = await openingKeys(connection, path);
    const names = firstOf([...deleted, ...keys.map((key) => key.name)], SHOWN, String);
    const further = more === 0 ? '' : `, and ${more} more`;
    const again =
      server.delivery === 'service'
        ? " Remove the name server from 'nameServers' in the configuration too, or the next start registers it again."
        : '';
    return `Keys stay on '${name}': ${names.join(', ')}${further}. They go on working there, because Tsigil no longer changes, replaces or removes them, also if you delete them.${again}`;
  }),
};

export const ZONE_DELETION = {
  asks: 'when keys lose rights with a zone',
  forces: 'delete zones with which keys lose rights',
  reason: reasonsFor(zone, async (connection, path, name) => {
    const { keys, more } = await openingKeys(connection, path);
    const granted = keys.filter(({ opens }) => opens.some(({ zones }) => zones !== 'all'));
    const id = path.slice(path.lastIndexOf('/') + 1);
    const scope = [['scope', 'ZONE'] as const, ['resource_id', id] as const];
    const own = await listItems(withoutSecrets(connection), tsigkey, scope);
    const losing = new Set([...own, ...granted].map((key) => String(key.name)));
    if (losing.size + more === 0) return undefined;
    const names = firstOf([...losing], SHOWN, String);
    if (more > 0) names.push(`perhaps some of ${more} more`);
    return `Keys lose what they open in '${name}': ${names.join(', ')}. Name servers then refuse it.`;
  }),
};
