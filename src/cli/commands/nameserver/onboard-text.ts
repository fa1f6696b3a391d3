import { setupSteps, type SetUp } from '../../../domain/brands/setup.ts';
import { shellWord } from '../../../domain/text/shell-word.ts';

/**
 * Returns the steps to set up an agent for a name server, with the commands to run. They have the
 * entries of the first zones, or of all.
 */
export function onboardText(server: SetUp, allZones: boolean): string {
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
