import type { Affected } from '../core/ports.ts';
import type { ResourceType } from '../core/resource.ts';
import { nameServer } from '../resources/name-server.ts';
import type { NotedChange } from '../resources/operations/change.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { zone } from '../resources/zone.ts';

export function noneAffected(): Affected {
  return {
    pools: new Set(),
    zones: new Set(),
    servers: new Set(),
    deletedServers: new Set(),
    keys: new Set(),
    changedKeys: new Set(),
    removals: new Map(),
    deletedZones: new Set(),
  };
}

export function isEmpty({ pools, zones, servers, deletedServers }: Affected): boolean {
  return pools.size + zones.size + servers.size + deletedServers.size === 0;
}

const NOTES: ReadonlyMap<ResourceType, (affected: Affected, change: NotedChange) => void> = new Map<
  ResourceType,
  (affected: Affected, change: NotedChange) => void
>([
  [
    tsigkey,
    ({ pools, zones, keys, changedKeys, removals }, change) => {
      const { operation, current, resource, removal } = change;
      if (current !== undefined && current.version === resource.version) return;
      keys.add(resource.id);
      if (operation !== 'create') changedKeys.add(resource.id);
      for (const state of current === undefined ? [resource] : [current, resource])
        (state.scope === 'POOL' ? pools : zones).add(String(state.resource_id));
      if (removal !== undefined && (removal.successorId !== null || removal.isCompromised))
        removals.set(resource.id, removal);
    },
  ],
  [
    zone,
    ({ pools, deletedZones }, { operation, resource }) => {
      // The pool and the name of a zone never change.
      if (operation !== 'update') pools.add(String(resource.pool_id));
      if (operation === 'delete') deletedZones.add(resource.id);
    },
  ],
  [
    nameServer,
    ({ servers, deletedServers }, { operation, resource }) => {
      (operation === 'delete' ? deletedServers : servers).add(resource.id);
    },
  ],
]);

/** Records in `affected` which name servers a change of one resource affects. */
export function noteAffected(affected: Affected, type: ResourceType, change: NotedChange): void {
  NOTES.get(type)?.(affected, change);
}
