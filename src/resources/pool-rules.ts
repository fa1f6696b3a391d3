import { ServiceError } from '../core/errors.ts';
import { DEFAULT_POOL_ID, pool } from './pool.ts';
import type { Lock, Reader } from '../core/ports.ts';
import type { Condition } from '../core/query.ts';
import type { Admission, Admitted, Change } from '../core/resource.ts';
import { nameServer } from './name-server.ts';
import { zone } from './zone.ts';

type PoolFields = (typeof pool)['fields'];

/** A pool is deleted only while no other change can put something into it. */
export function poolLocks({ operation, resource }: Change<PoolFields>): readonly Lock[] {
  return operation === 'delete' ? [{ type: pool, key: resource.id, exclusive: true }] : [];
}

/** Throws `invalid_operation` for the deletion of the default pool, or of one that is in use. */
export async function admitPool(
  change: Change<PoolFields>,
  transaction: Reader,
  admission: Admission,
): Promise<Admitted<PoolFields>> {
  switch (change.operation) {
    case 'create':
      return {
        resource: {
          ...change.resource,
          project_id: change.resource.project_id ?? admission.caller.projectId,
        },
      };
    case 'update':
      return change;
    case 'delete':
      await assertUnused(change.resource.id, transaction, admission);
      return change;
  }
}

const USERS = [
  [zone, 'zones'],
  [nameServer, 'name servers'],
] as const;

async function assertUnused(
  id: string,
  transaction: Reader,
  { visibleNames }: Admission,
): Promise<void> {
  if (id === DEFAULT_POOL_ID) throw new ServiceError('invalid_operation', 'default');
  const inPool: Condition[] = [{ field: 'pool_id', test: '=', value: id }];
  for (const [type, what] of USERS)
    if (await transaction.exists(type, inPool))
      throw new ServiceError('invalid_operation', {
        what,
        names: await visibleNames(type, inPool),
      });
}
