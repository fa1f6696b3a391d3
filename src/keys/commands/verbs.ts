import { ALGORITHM_NAMES, type AlgorithmName } from '../../dns/algorithms.ts';
import { DEFAULT_POOL_ID } from '../../resources/pool.ts';
import { generateSecret } from '../../resources/tsigkey.ts';
import { LIFECYCLE } from '../../rotation/lifecycle-response.ts';
import { shellCommand } from '../../core/text/shell-word.ts';
import { DESCRIPTION_FLAGS, readDescription } from '../../rotation/commands/description-flags.ts';
import { assertUsableName, isUnusableName } from '../../cli/flags/names.ts';
import type { ResourceCommand } from '../../cli/flags/resource-command.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { callFor } from '../../cli/service/client.ts';
import { STATE_COLUMNS, withStates } from '../../rotation/commands/key-states.ts';
import { factsOf } from '../../rotation/commands/lineages.ts';
import { reportGrants } from './grants.ts';

export const DEFAULT_ALGORITHM: AlgorithmName = 'hmac-sha256';

export const KEY_VERBS = {
  complete: completeKey,
  assertName: assertUsableName,
  forces: {
    create: 'create the key even if no name server can have a key of this name',
    set: 'accept a new name that no name server can have',
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
  facts: {
    flags: DESCRIPTION_FLAGS,
    read: readDescription,
    change: async (connection, path, facts) =>
      factsOf(await callFor(LIFECYCLE, connection, 'PATCH', `${path}/lifecycle`, facts)),
  },
  reports: [{ isForTables: false, write: reportGrants }],
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
