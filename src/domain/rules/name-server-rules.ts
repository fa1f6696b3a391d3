import { ServiceError } from '../model/errors.ts';
import type { Lock, Reader } from '../model/ports.ts';
import type { Admitted, Change } from '../model/resource.ts';
import type { nameServer } from '../resources/name-server.ts';
import { DEFAULT_POOL_ID, pool } from '../resources/pool.ts';

type NameServerFields = (typeof nameServer)['fields'];

/** A name server depends on its pool. The default pool always exists. */
export function nameServerLocks({
  operation,
  resource,
}: Change<NameServerFields>): readonly Lock[] {
  return operation === 'delete' || resource.pool_id === DEFAULT_POOL_ID
    ? []
    : [{ type: pool, key: resource.pool_id, exclusive: false }];
}

/**
 * Applies the rules about a change to a name server. The pool of the name server must exist. Throws
 * `no_valid_pool_found`.
 */
export async function admitNameServer(
  change: Change<NameServerFields>,
  transaction: Reader,
): Promise<Admitted<NameServerFields>> {
  const { resource } = change;
  const id = resource.pool_id;
  const isStated =
    change.operation === 'create' || (change.operation === 'update' && 'pool_id' in change.given);
  if (isStated && id !== DEFAULT_POOL_ID && (await transaction.get(pool, id)) === undefined)
    throw new ServiceError('no_valid_pool_found', { id });
  return { resource };
}
