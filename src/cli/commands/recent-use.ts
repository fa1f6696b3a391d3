import { isUse, KEY_USES } from '../../domain/delivery/key-uses.ts';
import { firstOf } from '../../domain/text/first-of.ts';
import { DAY_MS, millisecondsOf } from '../../domain/text/timestamps.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { callFor, type Connection } from '../service/client.ts';

/** A key, and the clients that have used it within a day. */
export interface UsedKey {
  readonly name: string;
  readonly clients: readonly string[];
}

const SHOWN = 10;

/**
 * Returns the clients that name servers saw with the key at `path` within a day before `now`; none if
 * there is no such key, or if the token may not see its uses. Throws `CommandError` if the service
 * cannot be reached.
 */
export async function recentClients(
  connection: Connection,
  path: () => Promise<string>,
  now: number,
): Promise<readonly string[]> {
  try {
    const { servers } = await callFor(KEY_USES, connection, 'GET', `${await path()}/uses`);
    const uses = servers.flatMap((server) => server.uses.filter(isUse));
    const recent = uses.filter(({ last_at: last }) => millisecondsOf(last) >= now - DAY_MS);
    return [...new Set(recent.map(({ address }) => (address === '' ? '(no address)' : address)))];
  } catch (error) {
    if (error instanceof CommandError && error.exitCode !== EXIT.unreachable) return [];
    throw error;
  }
}

/** Returns why to ask before keys that clients have just used are deleted. */
export function describeUse(used: readonly UsedKey[]): string {
  const keys = used.map(
    ({ name, clients }) => `'${name}' by ${firstOf(clients, SHOWN, String).join(', ')}`,
  );
  return `Keys were used within a day: ${firstOf(keys, SHOWN, String).join('; ')}. These clients are refused after the deletion.`;
}
