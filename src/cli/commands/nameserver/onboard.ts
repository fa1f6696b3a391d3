import { setupSteps, type SetUp } from '../../../domain/brands/setup.ts';
import { responseObject } from '../../../domain/model/object.ts';
import { nameServer } from '../../../domain/resources/name-server.ts';
import { comparisonForm } from '../../../domain/text/dns-name.ts';
import { shellWord } from '../../../domain/text/shell-word.ts';
import { defineCommand } from '../../flags/command.ts';
import { toggle } from '../../flags/flag.ts';
import { CommandError, EXIT } from '../../output/command-error.ts';
import { callFor } from '../../service/client.ts';
import { findPath, withHints } from '../../service/resource-requests.ts';
import { poolZones } from '../../imports/key-import.ts';

const { name, driver, address, delivery, probe_zone: probeZone, pool_id: pool } = nameServer.fields;
const SERVER = responseObject({
  name,
  driver,
  address,
  delivery,
  probe_zone: probeZone,
  pool_id: pool,
});

export const onboarding = defineCommand({
  name: 'onboard',
  description:
    'print the steps to set up a nameserver and its agent: configuration, token and start',
  argument: ['<nameserver>', 'id or name of the nameserver'],
  flags: {
    allZones: toggle('print the entries of all zones of the pool, not only of the first 20'),
  },
  examples: [
    'tsigil nameserver onboard ns1',
    'tsigil nameserver onboard ns1 --all-zones > steps.txt',
  ],
  async run({ argument: idOrName, connect, flags, terminal }) {
    const connection = await connect();
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
    const setUp = { ...server, pool: server.pool_id, zones, url: connection.url };
    terminal.out.write(onboardText(setUp, flags.allZones === true));
  },
});

/**
 * Returns the steps to set up an agent for a name server, with the commands to run. They have the
 * entries of the first zones, or of all.
 */
function onboardText(server: SetUp, allZones: boolean): string {
  const { name, probe_zone: probeZone, zones: known } = server;
  const { steps, later, zones, left } = setupSteps(server, allZones);
  const [zone = ''] = zones;
  const choice = `# These steps use the zone '${zone}.'. To use another zone, set it, and print the steps again:
tsigil nameserver set ${name} --probe-zone ${shellWord(`${zone}.`)}

`;
  const more = `# The steps have the entries of ${zones.length} zones of the pool, and ${left} more zones need theirs.
# To print the entries of all zones: tsigil nameserver onboard ${name} --all-zones

`;
  const texts = steps.map(({ title, text }, index) => `# ${index + 1}. ${title}\n${text}\n\n`);
  return `${probeZone === null && known.length === 0 ? choice : ''}${left > 0 ? more : ''}${texts.join('')}${later}
`;
}
