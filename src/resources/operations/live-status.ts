import type { DeliveryStatus } from '../../delivery/delivery-ports.ts';
import { withStatus } from '../../delivery/status.ts';
import type { Caller } from '../../core/caller.ts';
import type { Resource, ResourceType } from '../../core/resource.ts';
import { nameServer, type NameServer } from '../name-server.ts';

export function isLive({ collection }: ResourceType): boolean {
  return collection === nameServer.collection;
}

/** What a caller with limits does not see of a name server: it names keys outside the limits. */
export const HIDDEN = { held: null, unknown_keys: [], key_references: null, error: null } as const;

/** Their state depends also on pending changes, and on the process or agent that serves each. */
export async function showLive(
  delivery: DeliveryStatus | undefined,
  { limits }: Pick<Caller, 'limits'>,
  resources: Resource[],
): Promise<Resource[]> {
  const statuses = await delivery?.statuses(resources.map(({ id }) => id));
  return resources.map((resource) => ({
    ...(statuses === undefined
      ? resource
      : withStatus(resource as NameServer, statuses.get(resource.id))),
    ...(limits === undefined ? {} : HIDDEN),
  }));
}
