import { addresses } from './clients.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { DAY_MS, millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import { actionCommand } from '../cli/commands/action-command.ts';
import { isWhole } from '../cli/flags/flags.ts';
import { printItem, printList } from '../cli/output/output.ts';
import { writeLine } from '../cli/output/write-line.ts';
import { callFor, ifReadable, type Connection } from '../cli/service/client.ts';
import { coverageText, isUse, KEY_USES } from './key-uses.ts';

export const keyUses = actionCommand({
  name: 'uses',
  description: 'show which name servers saw a use of a tsigkey, by which client, and when',
  about: tsigkey,
  request: 'GET /v2/tsigkeys/{id}/uses',
  response: KEY_USES,
  columns: ['name_server', 'state', 'operation', 'outcome', 'address', 'last_at', 'count'],
  examples: ['tsigil tsigkey uses transfer', 'tsigil tsigkey uses transfer -f json'],
  print(shown, { columns, flags, terminal }) {
    if (isWhole(flags)) {
      printItem(terminal, shown, Object.keys(shown), flags);
      return;
    }
    const rows = shown.servers.flatMap(({ name_server: name, state, uses }) =>
      (uses.length === 0 ? [{}] : uses).map((use) => ({ name_server: name, state, ...use })),
    );
    printList(terminal, rows, columns, flags);
    const now = timestampOf(terminal.now());
    for (const { name_server: name, since, reason } of shown.servers)
      writeLine(
        terminal.err,
        `${name}: ${since === null ? (reason ?? '') : coverageText(since, now)}`,
      );
  },
});

/**
 * Returns who used a key within a day. Returns none if there is no such key, or if the token may not
 * see its uses.
 */
export async function recentClients(
  connection: Connection,
  path: () => Promise<string>,
  now: number,
): Promise<readonly string[]> {
  const { servers = [] } =
    (await ifReadable(async () => callFor(KEY_USES, connection, 'GET', `${await path()}/uses`))) ??
    {};
  const uses = servers.flatMap((server) => server.uses.filter(isUse));
  const recent = uses.filter(({ last_at: last }) => millisecondsOf(last) >= now - DAY_MS);
  return addresses(recent);
}
