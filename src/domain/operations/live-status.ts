import type { DeliveryStatus } from '../delivery/ports.ts';
import { withStatus } from '../delivery/status.ts';
import type { Resource, ResourceType } from '../model/resource.ts';
import { nameServer, type NameServer } from '../resources/name-server.ts';

/** Returns whether resources of a type show more than what is stored. */
export function isLive({ collection }: ResourceType): boolean {
  return collection === nameServer.collection;
}

/**
 * Returns name servers as they are now. Their state also depends on changes that wait for them, and
 * on the process that serves them.
 */
export async function showLive(
  delivery: DeliveryStatus | undefined,
  resources: Resource[],
): Promise<Resource[]> {
  if (delivery === undefined) return resources;
  const statuses = await delivery.statuses(resources.map(({ id }) => id));
  return resources.map((resource) => withStatus(resource as NameServer, statuses.get(resource.id)));
}
