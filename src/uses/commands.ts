import { addresses } from './clients.ts';
import { mapConcurrently } from '../core/scheduling/concurrency.ts';
import { firstOf } from '../core/text/first-of.ts';
import { DAY_MS, millisecondsOf, timestampOf } from '../core/text/timestamps.ts';
import { tsigkey } from '../resources/tsigkey.ts';
import { actionCommand } from '../cli/commands/action-command.ts';
import { text } from '../cli/flags/flag.ts';
import { isWhole } from '../cli/flags/flags.ts';
import type { Selection } from '../cli/flags/resource-command.ts';
import { readPastTime } from '../cli/flags/time.ts';
import { printItem, printList } from '../cli/output/output.ts';
import type { Terminal } from '../cli/output/terminal.ts';
import { writeLine } from '../cli/output/write-line.ts';
import { callFor, ifReadable, type Connection } from '../cli/service/client.ts';
import { findPath, withoutSecrets, type Item } from '../cli/service/resource-requests.ts';
import { isUntil, statesOf } from '../rotation/commands/key-states.ts';
import { keyStatesWith } from '../rotation/key-states.ts';
import { USE_STATES } from './key-states.ts';
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

/** Returns the clients of a key for the plan of a rotation. */
export async function readClients(connection: Connection, path: string) {
  const { servers } = await callFor(KEY_USES, connection, 'GET', `${path}/uses`);
  const uses = servers.flatMap((server) => server.uses.filter(isUse));
  return {
    servers: servers.map((each) => each.name_server),
    clients: uses.map(({ address }) => address),
    unknownOn: servers.filter(({ since }) => since === null).map((each) => each.name_server),
  };
}

export const UNUSED_KEYS: Selection = {
  flags: {
    unused: text(
      '<time>',
      'list only keys that no log of their name servers shows since this time or for this long, such as 90d; a key is left out if the log of one of its name servers does not show every use',
    ),
  },
  read({ unused }: { readonly unused?: string }, terminal) {
    if (unused === undefined) return undefined;
    const since = readPastTime(unused, terminal.now());
    return (connection, keys) => listUnused(connection, keys, since, terminal);
  },
};

/** Returns the unused keys, and reports the name servers that leave the others open. */
async function listUnused(
  connection: Connection,
  keys: readonly Item[],
  since: string,
  { err }: Pick<Terminal, 'err'>,
): Promise<readonly Item[]> {
  const stateOf = await statesOf(keyStatesWith(USE_STATES.members), connection, keys);
  const states = keys.flatMap((key) => stateOf(key) ?? []);
  const unknownOn = new Set(states.flatMap((state) => state.uses_unknown_on));
  if (unknownOn.size > 0) {
    const names = [...unknownOn].toSorted().join(', ');
    writeLine(
      err,
      `The logs of these name servers do not show every use, so their keys are left out: ${names}. To see why, run: tsigil tsigkey uses KEY`,
    );
  }
  const shortOn = new Map(
    states
      .flatMap((state) => state.uses_known_since)
      .filter(({ since: first }) => !isUntil(first, since))
      .map(({ name_server: name, since: first }) => [name, first]),
  );
  if (shortOn.size > 0) {
    const names = [...shortOn].toSorted().map(([name, first]) => `${name} (since ${first})`);
    writeLine(
      err,
      `The logs of these name servers do not reach back that far, so their keys are left out: ${names.join(', ')}`,
    );
  }
  return keys.filter((key) => isUntil(stateOf(key)?.unused_since, since));
}

export const KEY_DELETION = {
  asks: 'when clients have used a key within a day',
  forces: 'delete keys that clients have used within a day',
  async reason(connection: Connection, names: readonly string[], now: number) {
    const quiet = withoutSecrets(connection);
    const keys = await mapConcurrently(names, CONCURRENCY, async (name) => ({
      name,
      clients: await recentClients(quiet, () => findPath(quiet, tsigkey, name), now),
    }));
    const used = keys.filter(({ clients }) => clients.length > 0);
    return used.length === 0 ? undefined : describeUse(used);
  },
};

const CONCURRENCY = 8;

/**
 * Returns who used a key within a day. Returns none if there is no such key, or if the token may not
 * see its uses.
 */
async function recentClients(
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

interface UsedKey {
  readonly name: string;
  readonly clients: readonly string[];
}

const SHOWN = 10;

function describeUse(used: readonly UsedKey[]): string {
  const keys = used.map(
    ({ name, clients }) => `'${name}' by ${firstOf(clients, SHOWN, String).join(', ')}`,
  );
  return `Keys were used within a day: ${firstOf(keys, SHOWN, String).join('; ')}. These clients are refused after the deletion.`;
}
