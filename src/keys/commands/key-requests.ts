import { canonicalKey, type Key } from '../../formats/key.ts';
import { pool } from '../../resources/pool.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { call, type Connection } from '../../cli/service/client.ts';
import { currentKey, findLineage, keyPath } from '../../rotation/commands/lineages.ts';
import {
  assertSecrets,
  findId,
  findPath,
  listItems,
  withHints,
  type Item,
} from '../../cli/service/resource-requests.ts';

export interface ServiceKey extends Key {
  readonly id: string;
  readonly scope: string;
  readonly resourceId: string;
}

interface KeySelection {
  /** Whether each name stands for the key of its lineage to use now. */
  readonly current?: boolean;
  readonly all?: boolean;
  readonly pool?: string;
}

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

/** Throws `CommandError` if there are no keys, with a message that nothing was `done`. */
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
  const reason =
    ofPool === undefined
      ? 'there are no keys'
      : `no key applies to every zone of the pool '${ofPool}'`;
  throw new CommandError(
    EXIT.refused,
    `Nothing was ${done}: ${reason}`,
    "Run 'tsigil tsigkey list' to list all tsigkeys.",
  );
}

/** Returns the keys with these ids or names, each only once. */
async function getKeys(
  connection: Connection,
  idsOrNames: readonly string[],
  current: boolean,
): Promise<ServiceKey[]> {
  const keys = new Map<string, ServiceKey>();
  for (const idOrName of idsOrNames) {
    const item = await withHints(tsigkey, async () => {
      const path = current
        ? keyPath(currentKey(await findLineage(connection, idOrName)).id)
        : await findPath(connection, tsigkey, idOrName);
      return call(connection, 'GET', path);
    });
    const key = keyOf(item);
    keys.set(canonicalKey(key).name, key);
  }
  return [...keys.values()];
}

async function listKeys(connection: Connection, ofPool: string | undefined): Promise<ServiceKey[]> {
  const filters =
    ofPool === undefined
      ? []
      : [
          ['scope', 'POOL'] as const,
          ['resource_id', await findId(connection, pool, ofPool)] as const,
        ];
  return (await listItems(connection, tsigkey, filters)).map(keyOf);
}

/** Throws `CommandError` if the service omitted the secret. */
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
