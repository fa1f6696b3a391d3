import type { Caller } from '../model/caller.ts';
import { ServiceError } from '../model/errors.ts';
import type { Reader } from '../model/ports.ts';
import type { Change, ResourceType } from '../model/resource.ts';
import { isWithinLimits } from '../resources/limits.ts';
import type { Zone } from '../resources/zone-fields.ts';
import { zone } from '../resources/zone.ts';
import { requestedPool } from './zone-rules.ts';

/**
 * Throws `outside_limits` unless a change leaves the resource within the limits of the caller. Call
 * this function before the rules of the type. The errors of the rules then reveal nothing about
 * other resources.
 */
export async function assertWithinLimits(
  { limits }: Caller,
  type: ResourceType,
  change: Change,
  reader: Reader,
): Promise<void> {
  if (limits === undefined) return;
  const { resource } = change;
  const members: Readonly<Record<string, unknown>> =
    type === zone && change.operation === 'create'
      ? { ...resource, pool_id: requestedPool(resource as Zone).id } // safe: the type is `zone`
      : resource;
  const current = change.operation === 'update' ? change.current : undefined;
  if (!(await isWithinLimits(limits, type, members, reader, current)))
    throw new ServiceError('outside_limits', `this ${type.title}`);
}
