import { findBrand } from '../../../domain/brands/brands.ts';
import { formatYaml } from '../../output/yaml.ts';

/** The name server and the service that the texts describe. */
export interface Onboarded {
  readonly name: string;
  readonly driver: string;
  readonly address: string;
  /** The zone for test queries. Null if the service chooses a zone of the pool. */
  readonly probe_zone: string | null;
  /** The URL of the service. */
  readonly url: string;
}

const FOLDER = '/etc/tsigil-agent';

/** Returns the configuration file of the agent. */
export function agentFileOf({ name, driver, url }: Onboarded): string {
  const { local = {} } = findBrand(driver)?.recipe ?? {};
  return formatYaml({ url, tokenFile: `${FOLDER}/token`, nameServer: name, driver, local });
}

/** Returns the steps to set up an agent for a name server, with the commands to run. */
export function onboardText(server: Onboarded): string {
  const { name, driver, address, probe_zone: probeZone } = server;
  const zone = (probeZone ?? 'example.org.').replace(/\.$/, '');
  const recipe = findBrand(driver)?.recipe;
  if (recipe === undefined) return '';
  const { group, configuration, restart } = recipe;
  const host = address.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([^:]+):\d+$/, '$1');
  const from = /^[\d.]+$|:/.test(host) ? ` --from ${host}` : '';
  const choice = `# These steps use the zone '${zone}.'. To use another zone, set it, and print the steps again:
tsigil nameserver set ${name} --probe-zone ${zone}.

`;
  return `${probeZone === null ? choice : ''}# 1. On the host of the name server, as root: install the Tsigil package.
# The package starts a service on this host. Stop that service unless you use it:
systemctl disable --now tsigil
# Create a user for the agent, and its files:
useradd --system --groups ${group} --home-dir /nonexistent --shell /usr/sbin/nologin tsigil-agent
install -d -m 0750 -g tsigil-agent ${FOLDER}
${recipe.files(zone)}

# 2. Add these lines to ${configuration}, and run: systemctl restart ${restart}
${recipe.lines(zone)}

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
