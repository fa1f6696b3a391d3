import { canonicalKey, type Key } from '../../domain/key-formats/key.ts';
import { pool } from '../../domain/resources/pool.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { call, type Connection } from './client.ts';
import {
  assertSecrets,
  findId,
  findPath,
  listItems,
  withHints,
  type Item,
} from './resource-requests.ts';

/** A key, and the pool or zone to which it applies. */
export interface ServiceKey extends Key {
  readonly scope: string;
  readonly resourceId: string;
}

/** Returns the key with this id or name. Throws `CommandError`. */
export async function getKey(connection: Connection, idOrName: string): Promise<ServiceKey> {
  return keyOf(
    await withHints(tsigkey, async () =>
      call(connection, 'GET', await findPath(connection, tsigkey, idOrName, (name) => name)),
    ),
  );
}

/** Returns the keys with these ids or names, each only once. Throws `CommandError`. */
export async function getKeys(
  connection: Connection,
  idsOrNames: readonly string[],
): Promise<ServiceKey[]> {
  const keys = new Map<string, ServiceKey>();
  for (const idOrName of idsOrNames) {
    const key = await getKey(connection, idOrName);
    keys.set(canonicalKey(key).name, key);
  }
  return [...keys.values()];
}

/**
 * Returns all keys. With the id or name of a pool, returns those for every zone of the pool. Throws
 * `CommandError`.
 */
export async function listKeys(
  connection: Connection,
  poolIdOrName?: string,
): Promise<ServiceKey[]> {
  const poolId =
    poolIdOrName === undefined
      ? undefined
      : await findId(connection, pool, poolIdOrName, (name) => name);
  const filters = [
    ['scope', 'POOL'],
    ['resource_id', poolId ?? ''],
  ] as const;
  return (await listItems(connection, tsigkey, poolId === undefined ? [] : filters)).map(keyOf);
}

/**
 * Returns the key of a TSIG key resource. Throws `CommandError` if the service left out the secret.
 */
export function keyOf(item: Item): ServiceKey {
  assertSecrets(tsigkey, item);
  const { name, algorithm, secret, scope, resource_id: resourceId } = item;
  return {
    ...{ name: String(name), algorithm: String(algorithm), secret: String(secret) },
    ...{ scope: String(scope), resourceId: String(resourceId) },
  };
}
