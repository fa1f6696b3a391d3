import { findBrand } from '../../../domain/brands/brands.ts';
import { formatYaml } from '../../output/yaml.ts';

/** The name server and the service that the texts describe. */
export interface Onboarded {
  readonly name: string;
  readonly driver: string;
  readonly address: string;
  /** The zone for test queries. Null if the service chooses a zone of the pool. */
  readonly probe_zone: string | null;
  /** The names of the zones of its pool, in comparison form. */
  readonly zones: readonly string[];
  /** The URL of the service. */
  readonly url: string;
}

/** The zones whose entries are printed without `--all-zones`. */
const SHOWN_ZONES = 20;

const FOLDER = '/etc/tsigil-agent';

/** Returns the configuration file of the agent. */
export function agentFileOf({ name, driver, url }: Onboarded): string {
  const { local = {} } = findBrand(driver)?.recipe ?? {};
  return formatYaml({ url, tokenFile: `${FOLDER}/token`, nameServer: name, driver, local });
}

/**
 * Returns the steps to set up an agent for a name server, with the commands to run. They have the
 * entries of the first zones, or of all.
 */
export function onboardText(server: Onboarded, allZones: boolean): string {
  const { name, driver, address, probe_zone: probeZone, zones: known } = server;
  const zone = (probeZone ?? 'example.org.').replace(/\.$/, '');
  const zones = known.length === 0 ? [zone] : known.slice(0, allZones ? Infinity : SHOWN_ZONES);
  const left = Math.max(0, known.length - zones.length);
  const recipe = findBrand(driver)?.recipe;
  if (recipe === undefined) return '';
  const { group, configuration, restart } = recipe;
  const host = address.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([^:]+):\d+$/, '$1');
  const from = /^[\d.]+$|:/.test(host) ? ` --from ${host}` : '';
  const choice = `# These steps use the zone '${zone}.'. To use another zone, set it, and print the steps again:
tsigil nameserver set ${name} --probe-zone ${zone}.

`;
  const more = `# The steps have the entries of ${zones.length} zones of the pool, and ${left} more zones need theirs.
# To print the entries of all zones: tsigil nameserver onboard ${name} --all-zones

`;
  return `${probeZone === null && known.length === 0 ? choice : ''}${left > 0 ? more : ''}# 1. On the host of the name server, as root: install the Tsigil package.
# The package starts a service on this host. Stop that service unless you use it:
systemctl disable --now tsigil
# Create a user for the agent, and its files:
useradd --system --groups ${group} --home-dir /nonexistent --shell /usr/sbin/nologin tsigil-agent
install -d -m 0750 -g tsigil-agent ${FOLDER}
${recipe.files(zones)}

# 2. Add these lines to ${configuration}, and run: systemctl restart ${restart}
${recipe.lines(zones)}

# 3. Write these lines to ${FOLDER}/agent.yaml. If the host cannot reach the URL, replace it:
${agentFileOf(server)}
# 4. On this machine: create the agent's token. Then move the file to ${FOLDER}/token on the host.
install -m 0600 /dev/null agent.token
tsigil token create --name agent-${name} --role nameserver-agent --nameserver ${name}${from} -f value > agent.token
# On the host, protect the file:
chown root:tsigil-agent ${FOLDER}/token && chmod 0640 ${FOLDER}/token

# 5. On the host: check the requirements, and start the agent.
runuser -u tsigil-agent -- tsigil agent --config ${FOLDER}/agent.yaml --check
systemctl enable --now tsigil-agent

${recipe.addZone}
`;
}
