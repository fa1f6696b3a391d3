import { defineCommand } from '../flags/command.ts';
import type { ResourceCommand } from '../flags/resource-command.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { plainCell } from '../output/output.ts';
import { catchInterrupt, type Terminal } from '../output/terminal.ts';
import { writeLine } from '../output/write-line.ts';
import { call, type Connection } from '../service/client.ts';
import { withHints } from '../service/resource-requests.ts';
import { describeLoss, holdersOf, waitForRemoval, type Holders } from './deliveries.ts';
import { forceFlags, pathOf, verbOf, waitFlags } from './resource-verb.ts';

export function deleteCommand(resource: ResourceCommand) {
  const { type, deletion } = resource;
  return defineCommand({
    ...verbOf(resource, 'delete'),
    description: `delete ${type.collection} one after another, and report each result`,
    argument: [`<${type.noun}...>`, `ids or names of the ${type.collection}`],
    flags: {
      ...waitFlags(
        resource,
        'wait up to 60 seconds until every name server that had the keys refuses them',
      ),
      ...forceFlags(resource, 'delete'),
    },
    ...(deletion === undefined ? {} : { asks: deletion.asks }),
    async run({ argument: idsOrNames, confirm, connect, flags, terminal }) {
      const connection = await connect();
      if (flags.force !== true && flags.yes !== true) {
        const reason = await deletion?.reason(connection, idsOrNames, terminal.now());
        if (reason !== undefined) {
          writeLine(terminal.err, reason);
          await confirm(`Delete the ${resource.plural}?`);
        }
      }
      await deleteAll(connection, resource, idsOrNames, flags.wait === true, terminal);
    },
  });
}

/**
 * Deletes resources one after another. Continues after a refusal. Stops if the service cannot be
 * reached, and at Ctrl-C. With `isWaiting`, then waits until name servers refuse the deleted keys.
 */
async function deleteAll(
  connection: Connection,
  resource: ResourceCommand,
  idsOrNames: readonly string[],
  isWaiting: boolean,
  terminal: Terminal,
): Promise<void> {
  const { type, isDelivered = false } = resource;
  const removing: Holders[] = [];
  const { signal, release } = catchInterrupt(terminal);
  const total = idsOrNames.length;
  let deleted = 0;
  let refused = 0;
  try {
    for (const idOrName of idsOrNames) {
      if (signal.aborted)
        throw new CommandError(EXIT.interrupted, `Stopped: ${deleted} of ${total} deleted`);
      try {
        const holders = await withHints(type, async () => {
          const path = await pathOf(connection, resource, idOrName);
          const found = { name: idOrName, path };
          const before = isDelivered
            ? await holdersOf(connection, found, isWaiting)
            : { ...found, servers: [] };
          await call(connection, 'DELETE', path);
          return before;
        });
        deleted += 1;
        terminal.out.write(`${plainCell(`${idOrName}: deleted${describeLoss(holders)}`)}\n`);
        if (holders.servers.length > 0) removing.push(holders);
      } catch (error) {
        const canContinue =
          error instanceof CommandError && error.exitCode === EXIT.refused && total > 1;
        if (!canContinue) throw error;
        refused += 1;
        terminal.err.write(`${plainCell(idOrName)}: not deleted: ${error.message}\n`);
      }
    }
  } finally {
    release();
  }
  if (isWaiting) await waitForRemoval(connection, removing, terminal);
  if (refused > 0)
    throw new CommandError(EXIT.refused, `${deleted} of ${total} deleted, ${refused} not deleted`);
}
