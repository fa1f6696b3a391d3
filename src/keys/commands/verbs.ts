import { recentClients } from '../../uses/commands.ts';
import { ALGORITHM_NAMES, type AlgorithmName } from '../../dns/algorithms.ts';
import { DEFAULT_POOL_ID } from '../../resources/pool.ts';
import { generateSecret, tsigkey } from '../../resources/tsigkey.ts';
import { LIFECYCLE } from '../../rotation/lifecycle-response.ts';
import { mapConcurrently } from '../../core/scheduling/concurrency.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { shellCommand } from '../../core/text/shell-word.ts';
import { DESCRIPTION_FLAGS, readDescription } from '../../rotation/commands/description-flags.ts';
import { text } from '../../cli/flags/flag.ts';
import { assertUsableName, isUnusableName } from '../../cli/flags/names.ts';
import type { ResourceCommand } from '../../cli/flags/resource-command.ts';
import { readPastTime, readTime } from '../../cli/flags/time.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { writeLine } from '../../cli/output/write-line.ts';
import { callFor, type Connection } from '../../cli/service/client.ts';
import {
  describedAs,
  STATE_COLUMNS,
  unusedSince,
  withStates,
} from '../../rotation/commands/key-states.ts';
import { factsOf } from '../../rotation/commands/lineages.ts';
import { findPath, withoutSecrets, type Item } from '../../cli/service/resource-requests.ts';
import { reportGrants } from './grants.ts';

export const DEFAULT_ALGORITHM: AlgorithmName = 'hmac-sha256';

const CONCURRENCY = 8;

interface UseFlags extends Item {
  readonly unused?: string;
  readonly due?: string;
  readonly owner?: string;
}

export const KEY_VERBS = {
  complete: completeKey,
  assertName: assertUsableName,
  forces: {
    create: 'create the key even if no name server can have a key of this name',
    set: 'accept a new name that no name server can have',
    delete: 'delete keys that clients have used within a day',
  },
  newSecret({ algorithm }) {
    const known = ALGORITHM_NAMES.find((name) => name === algorithm);
    if (known === undefined) throw new Error(`Unknown algorithm '${String(algorithm)}'`);
    return generateSecret(known, process.getBuiltinModule('node:crypto').randomBytes);
  },
  nextSteps: ({ name }) =>
    isUnusableName(name)
      ? [shellCommand('tsigil tsigkey set', String(name), '--name NAME')]
      : [
          shellCommand('tsigil tsigkey export', String(name), '--format bind'),
          shellCommand('tsigil tsigkey verify', String(name), '--server HOST --zone ZONE'),
        ],
  states: { columns: STATE_COLUMNS, read: withStates },
  selection: {
    flags: {
      unused: text(
        '<time>',
        'list only keys that no log of their name servers shows since this time or for this long, such as 90d; a key is left out if the log of one of its name servers does not show every use',
      ),
      due: text(
        '<time>',
        'list only keys that should be replaced until this time or within this long, such as 30d: by their expiry, or the tsigkeys.maxAgeDays of the service',
      ),
      owner: text('<text>', 'list only keys of this owner'),
    },
    read({ unused, due, owner }: UseFlags, terminal) {
      if (unused === undefined && due === undefined && owner === undefined) return undefined;
      const since = unused === undefined ? undefined : readPastTime(unused, terminal.now());
      const until = due === undefined ? undefined : readTime(due, terminal.now());
      return async (connection, keys) => {
        const found = await describedAs(connection, keys, { due: until, owner });
        return since === undefined ? found : listUnused(connection, found, since, terminal);
      };
    },
  },
  facts: {
    flags: DESCRIPTION_FLAGS,
    read: readDescription,
    change: async (connection, path, facts) =>
      factsOf(await callFor(LIFECYCLE, connection, 'PATCH', `${path}/lifecycle`, facts)),
  },
  reports: [{ isForTables: false, write: reportGrants }],
  deletion: {
    asks: 'when clients have used a key within a day',
    async reason(connection, names, now) {
      const quiet = withoutSecrets(connection);
      const keys = await mapConcurrently(names, CONCURRENCY, async (name) => ({
        name,
        clients: await recentClients(quiet, () => findPath(quiet, tsigkey, name), now),
      }));
      const used = keys.filter(({ clients }) => clients.length > 0);
      return used.length === 0 ? undefined : describeUse(used);
    },
  },
} satisfies Partial<ResourceCommand>;

function completeKey(
  members: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { scope = 'POOL', resource_id: id } = members;
  if (scope === 'ZONE' && id === undefined)
    throw new CommandError(
      EXIT.usage,
      'The zone is missing: a key with scope ZONE applies to one zone',
      'Add --zone with the name of the zone, or --resource-id.',
    );
  return { algorithm: DEFAULT_ALGORITHM, ...members, scope, resource_id: id ?? DEFAULT_POOL_ID };
}

/** Returns the unused keys, and reports the name servers that leave the others open. */
async function listUnused(
  connection: Connection,
  keys: readonly Item[],
  since: string,
  { err }: Pick<Terminal, 'err'>,
): Promise<readonly Item[]> {
  const { unused, unknownOn, shortOn } = await unusedSince(connection, keys, since);
  if (unknownOn.length > 0) {
    const names = unknownOn.join(', ');
    writeLine(
      err,
      `The logs of these name servers do not show every use, so their keys are left out: ${names}. To see why, run: tsigil tsigkey uses KEY`,
    );
  }
  if (shortOn.size > 0) {
    const names = [...shortOn].toSorted().map(([name, first]) => `${name} (since ${first})`);
    writeLine(
      err,
      `The logs of these name servers do not reach back that far, so their keys are left out: ${names.join(', ')}`,
    );
  }
  return unused;
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
