import { ServiceError } from '../model/errors.ts';
import { DEFAULT_POOL_ID, pool } from '../resources/pool.ts';
import type { Lock, Reader } from '../model/ports.ts';
import type { Admission, Admitted, Change } from '../model/resource.ts';
import { nameServer } from '../resources/name-server.ts';
import { zone } from '../resources/zone.ts';

type PoolFields = (typeof pool)['fields'];

/** A pool is deleted only while no other change can put something into it. */
export function poolLocks({ operation, resource }: Change<PoolFields>): readonly Lock[] {
  return operation === 'delete' ? [{ type: pool, key: resource.id, exclusive: true }] : [];
}

/**
 * Applies the rules about a change to a pool. Rejects the deletion of the default pool, and of a
 * pool with zones or name servers. Throws `invalid_operation`.
 */
export async function admitPool(
  change: Change<PoolFields>,
  transaction: Reader,
  { caller }: Admission,
): Promise<Admitted<PoolFields>> {
  switch (change.operation) {
    case 'create':
      return {
        resource: {
          ...change.resource,
          project_id: change.resource.project_id ?? caller.projectId,
        },
      };
    case 'update':
      return change;
    case 'delete':
      await assertUnused(change.resource.id, transaction);
      return change;
  }
}

async function assertUnused(id: string, transaction: Reader): Promise<void> {
  if (id === DEFAULT_POOL_ID) throw new ServiceError('invalid_operation', 'default');
  if (await transaction.exists(zone, [{ field: 'pool_id', test: '=', value: id }]))
    throw new ServiceError('invalid_operation', 'in use');
  if (await transaction.exists(nameServer, [{ field: 'pool_id', test: '=', value: id }]))
    throw new ServiceError('invalid_operation', 'name servers');
}
