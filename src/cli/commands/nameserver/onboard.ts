import type { Command } from 'commander';
import { responseObject } from '../../../domain/model/object.ts';
import { nameServer } from '../../../domain/resources/name-server.ts';
import { connect, withConnectionFlags } from '../../flags/flags.ts';
import { comparisonForm } from '../../../domain/text/dns-name.ts';
import { addExamples } from '../../flags/help.ts';
import { CommandError, EXIT } from '../../output/command-error.ts';
import type { Terminal } from '../../output/terminal.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { callFor } from '../../service/client.ts';
import { findPath, withHints } from '../../service/resource-requests.ts';
import { poolZones } from '../../imports/key-import.ts';
import { onboardText } from './onboard-text.ts';

const { name, driver, address, delivery, probe_zone: probeZone, pool_id: pool } = nameServer.fields;
const SERVER = responseObject({
  name,
  driver,
  address,
  delivery,
  probe_zone: probeZone,
  pool_id: pool,
});

type Flags = ConnectionFlags & { readonly allZones?: boolean };

/**
 * Adds the command that prints the steps to set up an agent. `parent` is the command for name
 * servers.
 */
export function addOnboarding(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('onboard')
    .description(
      'print the steps to set up a nameserver and its agent: configuration, token and start',
    )
    .argument('<nameserver>', 'id or name of the nameserver')
    .option('--all-zones', 'print the entries of all zones of the pool, not only of the first 20')
    .action(async (idOrName: string, flags: Flags) => {
      const connection = await connect(flags, terminal);
      const server = await withHints(nameServer, async () =>
        callFor(SERVER, connection, 'GET', await findPath(connection, nameServer, idOrName)),
      );
      if (server.delivery !== 'agent')
        throw new CommandError(
          EXIT.refused,
          `No agent delivers the keys of '${server.name}'`,
          `Run: tsigil nameserver set ${server.name} --delivery agent`,
        );
      const names = (await poolZones(connection, server.pool_id)) ?? [];
      const zones = names.map(comparisonForm);
      terminal.out.write(
        onboardText(
          { ...server, pool: server.pool_id, zones, url: connection.url },
          flags.allZones === true,
        ),
      );
    });
  addExamples(withConnectionFlags(command), [
    'tsigil nameserver onboard ns1',
    'tsigil nameserver onboard ns1 --all-zones > steps.txt',
  ]);
}
