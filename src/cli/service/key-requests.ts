import type { Key } from '../../domain/key-formats/key.ts';
import { tsigkey } from '../../domain/resources/tsigkey.ts';
import { call, type Connection } from './client.ts';
import { findPath, withHints, type Item } from './resource-requests.ts';

/** The key with this id or name. Throws `CommandError`. */
export async function getKey(connection: Connection, idOrName: string): Promise<Key> {
  return keyOf(await withHints(tsigkey, async () => call(connection, 'GET', await findPath(connection, tsigkey, idOrName, (name) => name))));
}

/** The part of a resource that programs need. */
export function keyOf({ name, algorithm, secret }: Item): Key {
  return { name: String(name), algorithm: String(algorithm), secret: String(secret) };
}
