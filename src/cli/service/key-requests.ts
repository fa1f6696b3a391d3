import type { Key } from '../../domain/key-formats/key.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { call, type Connection } from './client.ts';
import { assertSecrets, findPath, withHints, type Item } from './resource-requests.ts';

/** Returns the key with this id or name. Throws `CommandError`. */
export async function getKey(connection: Connection, idOrName: string): Promise<Key> {
  return keyOf(
    await withHints(tsigkey, async () =>
      call(connection, 'GET', await findPath(connection, tsigkey, idOrName, (name) => name)),
    ),
  );
}

/** Returns the name, algorithm and secret of a TSIG key resource. Throws `CommandError` if the service left out the secret. */
export function keyOf(item: Item): Key {
  assertSecrets(tsigkey, item);
  const { name, algorithm, secret } = item;
  return { name: String(name), algorithm: String(algorithm), secret: String(secret) };
}
