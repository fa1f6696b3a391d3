import { formatYaml } from '../../output/yaml.ts';

/** The name server and the service that the texts describe. */
export interface Onboarded {
  readonly name: string;
  readonly driver: string;
  readonly address: string;
  /** The zone for test queries, without its trailing dot. */
  readonly zone: string;
  /** The URL of the service. */
  readonly url: string;
}

/** The setup of an agent for one kind of name server. */
interface Recipe {
  /** The group whose members can use the control channel. */
  readonly group: string;
  /** The folder of the key file, or undefined if the agent writes no key file. */
  readonly folder?: string;
  /** Returns the initial content of the key file. */
  empty?(zone: string): string;
  /** The configuration file of the name server, to which operators add `lines`. */
  readonly configuration: string;
  lines(zone: string): string;
  readonly local: Readonly<Record<string, unknown>>;
  readonly restart: string;
}

const acls = (zone: string, line: (name: string, right: string) => string) =>
  ['transfer', 'update']
    .flatMap((right) => ['', `-${zone}`].map((end) => line(`tsigil-${right}${end}`, right)))
    .join('\n');

const RECIPES: Readonly<Record<string, Recipe>> = {
  bind: {
    group: 'bind',
    folder: '/etc/bind/tsigil',
    empty: (zone) => acls(zone, (name) => `acl "${name}" { none; };`),
    configuration: '/etc/bind/named.conf',
    lines: (zone) => `include "/etc/bind/rndc.key";
include "/etc/bind/tsigil/keys.conf";
controls { inet 127.0.0.1 port 953 allow { 127.0.0.1; } keys { "rndc-key"; }; };
# In options, because BIND permits unsigned transfers without this line:
#   allow-transfer { "tsigil-transfer"; };
# In each zone, with the name of the zone:
#   allow-transfer { "tsigil-transfer"; "tsigil-transfer-${zone}"; };
#   allow-update { "tsigil-update"; "tsigil-update-${zone}"; };`,
    local: { file: '/etc/bind/tsigil/keys.conf', controlKeyFile: '/etc/bind/rndc.key' },
    restart: 'named',
  },
  knot: {
    group: 'knot',
    folder: '/etc/knot/tsigil',
    empty: (zone) =>
      `acl:\n${acls(
        zone,
        (name, right) =>
          `  - id: "${name}"\n    action: ${right}\n    address: 0.0.0.0/32\n    deny: on`,
      )}`,
    configuration: '/etc/knot/knot.conf',
    lines: (zone) => `include: "/etc/knot/tsigil/keys.conf"
# In server:
#   automatic-acl: off
# In each zone, with the name of the zone:
#   acl: [tsigil-transfer, tsigil-update, tsigil-transfer-${zone}, tsigil-update-${zone}]`,
    local: { file: '/etc/knot/tsigil/keys.conf', controlSocket: '/run/knot/knot.sock' },
    restart: 'knot',
  },
  nsd: {
    group: 'nsd',
    folder: '/etc/nsd/tsigil',
    empty: (zone) =>
      ['tsigil-transfer', `tsigil-transfer-${zone}`]
        .map((name) => `pattern:\n    name: "${name}"`)
        .join('\n'),
    configuration: '/etc/nsd/nsd.conf',
    lines: (zone) => `remote-control:
    control-enable: yes
    control-interface: "/run/nsd/nsd.sock"
# Above the zones:
include: "/etc/nsd/tsigil/keys.conf"
# In each zone, with the name of the zone:
#   include-pattern: "tsigil-transfer"
#   include-pattern: "tsigil-transfer-${zone}"`,
    local: { file: '/etc/nsd/tsigil/keys.conf', controlSocket: '/run/nsd/nsd.sock' },
    restart: 'nsd',
  },
  powerdns: {
    group: 'pdns',
    configuration: '/etc/powerdns/pdns.d/tsigil.conf',
    lines: () => `api=yes
# Replace API-KEY with the content of /etc/tsigil-agent/powerdns-api-key:
api-key=API-KEY
webserver=yes
webserver-address=127.0.0.1
webserver-port=8081
allow-axfr-ips=
dnsupdate=yes
allow-dnsupdate-from=`,
    local: { apiKeyFile: '/etc/tsigil-agent/powerdns-api-key' },
    restart: 'pdns',
  },
};

const FOLDER = '/etc/tsigil-agent';

const STATE_FOLDER = '/var/lib/tsigil-agent';

/** Returns the configuration file of the agent. */
export function agentFileOf({ name, driver, url }: Onboarded): string {
  const { local = {} } = RECIPES[driver] ?? {};
  const files = { tokenFile: `${FOLDER}/token`, stateFile: `${STATE_FOLDER}/state` };
  return formatYaml({ url, ...files, nameServer: name, driver, local });
}

/** Returns the steps to set up an agent for a name server, with the commands to run. */
export function onboardText(server: Onboarded): string {
  const { name, driver, address, zone } = server;
  const recipe = RECIPES[driver];
  if (recipe === undefined) return '';
  const { group, folder, configuration, restart } = recipe;
  const host = address.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([^:]+):\d+$/, '$1');
  const from = /^[\d.]+$|:/.test(host) ? ` --from ${host}` : '';
  const files =
    folder === undefined
      ? `install -m 0600 -o tsigil-agent /dev/null ${FOLDER}/powerdns-api-key
openssl rand -hex 32 > ${FOLDER}/powerdns-api-key`
      : `install -d -m 2750 -o tsigil-agent -g ${group} ${folder}
# Repeat the entries for '${zone}' for each of your zones.
cat > ${folder}/keys.conf <<'END'
${recipe.empty?.(zone) ?? ''}
END
chown tsigil-agent:${group} ${folder}/keys.conf`;
  return `# 1. On the host of the name server, as root: install the Tsigil package.
# The package starts a service on this host. Stop that service unless you use it:
systemctl disable --now tsigil
# Create a user for the agent, and its files:
useradd --system --groups ${group} --home-dir /nonexistent --shell /usr/sbin/nologin tsigil-agent
install -d -m 0750 -g tsigil-agent ${FOLDER}
install -d -m 0700 -o tsigil-agent -g tsigil-agent ${STATE_FOLDER}
${files}

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
`;
}
