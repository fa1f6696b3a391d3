import { canonicalKey, type Key } from '../../domain/key-formats/key.ts';
import { pool } from '../../domain/resources/pool.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { call, type Connection } from './client.ts';
import { currentKey, findLineage, keyPath } from './lineages.ts';
import {
  assertSecrets,
  findId,
  findPath,
  listItems,
  withHints,
  type Item,
} from './resource-requests.ts';

export interface ServiceKey extends Key {
  readonly id: string;
  readonly scope: string;
  readonly resourceId: string;
}

export interface KeySelection {
  /** Whether each name stands for the key of its lineage to use now. */
  readonly current?: boolean;
  readonly all?: boolean;
  readonly pool?: string;
}

/** Throws `CommandError` unless the arguments and flags select the keys in exactly one way. */
export function assertOneSelection(
  idsOrNames: readonly string[],
  { pool: ofPool, all }: KeySelection,
): void {
  const ways = [idsOrNames.length > 0, ofPool !== undefined, all === true].filter(Boolean);
  if (ways.length !== 1)
    throw new CommandError(
      EXIT.usage,
      'Select the keys in exactly one way: ids or names, --pool or --all',
    );
}

/**
 * Returns the selected keys. Throws `CommandError` if there are none, with a message that nothing
 * was `done`.
 */
export async function selectKeys(
  connection: Connection,
  idsOrNames: readonly string[],
  { pool: ofPool, current = false }: KeySelection,
  done: 'exported' | 'verified',
): Promise<ServiceKey[]> {
  const keys =
    idsOrNames.length > 0
      ? await getKeys(connection, idsOrNames, current)
      : await listKeys(connection, ofPool);
  if (keys.length > 0) return keys;
  throw new CommandError(
    EXIT.refused,
    ofPool === undefined
      ? `Nothing was ${done}: there are no keys`
      : `Nothing was ${done}: no key applies to every zone of the pool '${ofPool}'`,
    "Run 'tsigil tsigkey list' to list all tsigkeys.",
  );
}

async function getKey(
  connection: Connection,
  idOrName: string,
  current: boolean,
): Promise<ServiceKey> {
  return keyOf(
    await withHints(tsigkey, async () =>
      call(
        connection,
        'GET',
        current
          ? keyPath(currentKey(await findLineage(connection, idOrName)).id)
          : await findPath(connection, tsigkey, idOrName),
      ),
    ),
  );
}

/** Returns the keys with these ids or names, each only once. Throws `CommandError`. */
async function getKeys(
  connection: Connection,
  idsOrNames: readonly string[],
  current: boolean,
): Promise<ServiceKey[]> {
  const keys = new Map<string, ServiceKey>();
  for (const idOrName of idsOrNames) {
    const key = await getKey(connection, idOrName, current);
    keys.set(canonicalKey(key).name, key);
  }
  return [...keys.values()];
}

/**
 * Returns all keys. With the id or name of a pool, returns only the keys that apply to the pool.
 * Throws `CommandError`.
 */
async function listKeys(
  connection: Connection,
  poolIdOrName: string | undefined,
): Promise<ServiceKey[]> {
  const poolId =
    poolIdOrName === undefined ? undefined : await findId(connection, pool, poolIdOrName);
  const filters = [
    ['scope', 'POOL'],
    ['resource_id', poolId ?? ''],
  ] as const;
  return (await listItems(connection, tsigkey, poolId === undefined ? [] : filters)).map(keyOf);
}

/**
 * Returns the key in a resource from the service. Throws `CommandError` if the service omitted the
 * secret.
 */
export function keyOf(item: Item): ServiceKey {
  assertSecrets(tsigkey, item);
  const { id, name, algorithm, secret, scope, resource_id: resourceId } = item;
  return {
    id: String(id),
    name: String(name),
    algorithm: String(algorithm),
    secret: String(secret),
    scope: String(scope),
    resourceId: String(resourceId),
  };
}
