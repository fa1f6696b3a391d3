import { findBrand } from './brands.ts';

interface SetUp {
  readonly name: string;
  readonly driver: string;
  readonly address: string;
  /** The zone for test queries. Null if the service chooses a zone of the pool. */
  readonly probe_zone: string | null;
  readonly delivery: 'service' | 'agent';
  readonly pool: string;
  /** The command that creates a zone in its pool. */
  readonly createZone: string;
  /** The names of the zones of its pool, in comparison form. */
  readonly zones: readonly string[];
  readonly url: string;
}

interface SetupStep {
  /** Where, and what. */
  readonly title: string;
  /** The commands to run, or the lines to add. */
  readonly text: string;
}

interface Setup {
  readonly steps: readonly SetupStep[];
  readonly later: string;
  /** How many zones are left out. */
  readonly left: number;
}

/** The zones whose entries the steps have unless all are wanted. */
const SHOWN_ZONES = 20;

export function setupSteps(server: SetUp, allZones: boolean): Setup {
  const zone = (server.probe_zone ?? 'example.org.').replace(/\.$/, '');
  const zones =
    server.zones.length === 0 ? [zone] : server.zones.slice(0, allZones ? Infinity : SHOWN_ZONES);
  const left = Math.max(0, server.zones.length - zones.length);
  const recipe = findBrand(server.driver)?.recipe;
  if (recipe === undefined) return { steps: [], later: '', left };
  const byAgent = server.delivery === 'agent';
  const user = byAgent ? 'tsigil-agent' : 'tsigil';
  const lines = {
    title: `Add these lines to ${recipe.configuration}, and run: systemctl restart ${recipe.restart}`,
    text: recipe.lines(zones, user),
  };
  const files = recipe.files(zones, user);
  const steps = byAgent
    ? agentSteps(server, files, lines, recipe.group, recipe.local(user))
    : serviceSteps(server, files, lines, recipe.group, recipe.local(user));
  return { steps, later: recipe.addZone(server.createZone), left };
}

type Options = Readonly<Record<string, string>>;

function agentSteps(
  { name, driver, address, url }: SetUp,
  files: string,
  lines: SetupStep,
  group: string,
  local: Options,
): SetupStep[] {
  const folder = '/etc/tsigil-agent';
  const host = address.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([^:]+):\d+$/, '$1');
  const from = /^[\d.]+$|:/.test(host) ? ` --from ${host}` : '';
  return [
    {
      title: 'On the host of the name server, as root: install the Tsigil package.',
      text: `# The package starts a service on this host. Stop that service unless you use it:
systemctl disable --now tsigil
# Create a user for the agent, and its files:
useradd --system --groups ${group} --home-dir /nonexistent --shell /usr/sbin/nologin tsigil-agent
install -d -m 0750 -g tsigil-agent ${folder}
${files}`,
    },
    lines,
    {
      title: `Write these lines to ${folder}/agent.yaml. If the host cannot reach the URL, replace it:`,
      text: `url: ${scalar(url)}
tokenFile: ${folder}/token
nameServer: ${scalar(name)}
driver: ${driver}
local:
${optionLines(local, '  ')}`,
    },
    {
      title: `On this machine: create the agent's token. Then move the file to ${folder}/token on the host.`,
      text: `install -m 0600 /dev/null agent.token
tsigil token create --name agent-${name} --role nameserver-agent --nameserver ${name}${from} -f value > agent.token
# On the host, protect the file:
chown root:tsigil-agent ${folder}/token && chmod 0640 ${folder}/token`,
    },
    {
      title: 'On the host: check the requirements, and start the agent.',
      text: `runuser -u tsigil-agent -- tsigil agent --config ${folder}/agent.yaml --check
systemctl enable --now tsigil-agent`,
    },
  ];
}

function serviceSteps(
  { name, driver, address, pool, probe_zone: probeZone }: SetUp,
  files: string,
  lines: SetupStep,
  group: string,
  local: Options,
): SetupStep[] {
  return [
    {
      title:
        'On the host of the service, on which the name server runs too, as root: create the files.',
      text: `usermod --append --groups ${group} tsigil
${files}`,
    },
    lines,
    {
      title:
        'Add this entry to nameServers in /etc/tsigil/tsigil.yaml, and run: systemctl restart tsigil',
      text: `nameServers:
  - name: ${scalar(name)}
    pool: ${scalar(pool)}
    driver: ${driver}
    address: ${scalar(address)}
${probeZone === null ? '' : `    probeZone: ${scalar(probeZone)}\n`}    local:
${optionLines(local, '      ')}`,
    },
  ];
}

function optionLines(options: Options, indent: string): string {
  return Object.entries(options)
    .map(([option, value]) => `${indent}${option}: ${scalar(value)}`)
    .join('\n');
}

/** Returns a text as a value in YAML, in quotes unless it can only be read as text. */
function scalar(text: string): string {
  return /^[a-zA-Z/][\w./:-]*$/.test(text) && !/:$|^(?:true|false|null|yes|no|on|off)$/i.test(text)
    ? text
    : JSON.stringify(text);
}
