import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { queryOverUdp } from '../../src/net/dns.ts';
import { NetError } from '../../src/net/faults.ts';
import { checkRequest } from '../../src/domain/dns/key-check.ts';
import { exportKey } from '../../src/domain/export-formats/formats.ts';
import type { Key } from '../../src/domain/key-formats/key.ts';
import { moduleFolder, SCHEMA } from './brands/powerdns-server.ts';
import { freePort } from './connections.ts';
import { recordSecret } from './evidence.ts';
import { endWithTests } from './leftovers.ts';
import { hasProgram, TOOL_ENVIRONMENT } from './tools.ts';

/** The zone on every server. */
export const ZONE = 'a.test.';
const ZONE_FILE = `$TTL 60
@ SOA ns.a.test. hostmaster.a.test. 5 3600 600 86400 60
@ NS ns.a.test.
ns A 192.0.2.1
${Array.from({ length: 1500 }, (_, index) => `t${index} TXT "${'text '.repeat(40)}"\n`).join('')}`;

/** The number of records in the zone. A transfer of these records takes several messages. */
export const ZONE_RECORDS = 1503;

/** The keys in the configuration of a server. */
export interface ServerKeys {
  /** The key that may transfer the zone, and update it if the server supports updates. */
  readonly allowed: Key;
  /** The keys that the server knows, but that have no right. */
  readonly others: readonly Key[];
}

/**
 * A real name server on a free port, with its data in a temporary folder. It requires a key for
 * transfers and updates.
 */
export interface NameServer {
  readonly port: number;
  /** The folder with the configuration and the data of the server. */
  readonly folder: string;
  /** The URL and the key of the PowerDNS API. Undefined for other name servers. */
  readonly api?: { readonly url: string; readonly key: string };
  stop(): Promise<void>;
}

/** A name server program. */
export interface NameServerKind {
  readonly name: string;
  /** Returns whether the program is installed, as `hasProgram` does. */
  isInstalled(): boolean;
  start(keys: ServerKeys): Promise<NameServer>;
}

/** The configuration and the command of a name server program. */
interface Recipe {
  readonly command: (folder: string) => [string, ...string[]];
  readonly configure: (folder: string, port: number, keys: ServerKeys) => void;
  /**
   * Runs once the server responds to queries. Returns the server's API, or undefined if it has no
   * API.
   */
  readonly finish?: (port: number, keys: ServerKeys) => Promise<NameServer['api']>;
}

/** All name servers for which the service exports keys. */
export const NAME_SERVERS: readonly NameServerKind[] = [
  kind('BIND', () => hasProgram('named', 'bind9'), {
    command: (folder) => ['named', '-c', join(folder, 'named.conf'), '-n', '1', '-g'],
    configure: configureBind,
  }),
  kind('Knot', () => hasProgram('knotd', 'knot'), {
    command: (folder) => ['knotd', '-c', join(folder, 'knot.conf')],
    configure: configureKnot,
  }),
  kind('NSD', () => hasProgram('nsd', 'nsd'), {
    command: (folder) => ['nsd', '-d', '-c', join(folder, 'nsd.conf')],
    configure: configureNsd,
  }),
  kind(
    'PowerDNS',
    () => hasProgram('pdns_server', 'pdns-server') && hasProgram('pdnsutil', 'pdns-server'),
    {
      command: (folder) => ['pdns_server', `--config-dir=${folder}`],
      configure: configurePowerdns,
      finish: finishPowerdns,
    },
  ),
];

function kind(name: string, isInstalled: () => boolean, recipe: Recipe): NameServerKind {
  return { name, isInstalled, start: (keys) => start(name, recipe, keys) };
}

async function start(
  name: string,
  { command, configure, finish }: Recipe,
  keys: ServerKeys,
): Promise<NameServer> {
  const folder = mkdtempSync(join(tmpdir(), `tsigil-${name.toLowerCase()}-`));
  for (const { secret } of [keys.allowed, ...keys.others]) recordSecret(secret);
  const port = await freePort();
  writeFileSync(join(folder, 'a.test.zone'), ZONE_FILE);
  configure(folder, port, keys);
  const [program, ...parameters] = command(folder);
  const child = endWithTests(
    spawn(program, parameters, {
      cwd: folder,
      env: TOOL_ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await answers(port, child, () => output);
    const api = await finish?.(port, keys);
    return { port, folder, stop, ...(api === undefined ? {} : { api }) };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configureBind(folder: string, port: number, { allowed, others }: ServerKeys): void {
  const keys = [allowed, ...others].map((key) => exportKey('bind', key).text).join('');
  const grant = `key "${allowed.name}";`;
  writeFileSync(
    join(folder, 'named.conf'),
    `${keys}
options {
  directory "${folder}"; pid-file none; lock-file none; session-keyfile "${folder}/session.key";
  listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; notify no; dnssec-validation no;
};
controls { };
zone "a.test" { type primary; file "${folder}/a.test.zone"; allow-transfer { ${grant} }; allow-update { ${grant} }; };
`,
  );
}

function configureKnot(folder: string, port: number, { allowed, others }: ServerKeys): void {
  const sections = [allowed, ...others].map((key) => exportKey('knot', key).text);
  const keys = sections
    .map((text, index) => (index === 0 ? text : text.replace('key:\n', '')))
    .join('');
  writeFileSync(
    join(folder, 'knot.conf'),
    `server:
    rundir: "${folder}"
    listen: 127.0.0.1@${port}
database:
    storage: "${folder}"
${keys}acl:
  - id: allowed
    key: ${allowed.name}
    action: [transfer, update]
zone:
  - domain: a.test
    storage: "${folder}"
    file: a.test.zone
    acl: allowed
`,
  );
}

function configureNsd(folder: string, port: number, { allowed, others }: ServerKeys): void {
  const keys = [allowed, ...others].map((key) => exportKey('nsd', key).text).join('');
  const place = (name: string) => `"${folder}/${name}"`;
  writeFileSync(
    join(folder, 'nsd.conf'),
    `server:
    ip-address: 127.0.0.1@${port}
    server-count: 1
    username: ""
    chroot: ""
    database: ""
    zonesdir: "${folder}"
    xfrdir: "${folder}"
    pidfile: ${place('nsd.pid')}
    xfrdfile: ${place('xfrd.state')}
    zonelistfile: ${place('zone.list')}
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
remote-control:
    control-enable: no
${keys}zone:
    name: a.test
    zonefile: a.test.zone
    provide-xfr: 0.0.0.0/0 "${allowed.name}"
`,
  );
}

const API_KEY = 'an-api-key-of-the-tests';

function configurePowerdns(folder: string, port: number): void {
  const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
  database.exec(readFileSync(SCHEMA, 'utf8'));
  database.close();
  mkdirSync(join(folder, 'run'));
  const settings = {
    launch: 'gsqlite3',
    'gsqlite3-database': join(folder, 'pdns.sqlite3'),
    'module-dir': moduleFolder(),
    'socket-dir': join(folder, 'run'),
    'local-address': '127.0.0.1',
    'local-port': port,
    daemon: 'no',
    guardian: 'no',
    api: 'yes',
    'api-key': API_KEY,
    // The API listens on the port of the DNS server, but on a different loopback address.
    'webserver-address': '127.0.0.2',
    'webserver-port': port,
    'webserver-allow-from': '127.0.0.0/8',
    'allow-axfr-ips': '',
    dnsupdate: 'yes',
    'allow-dnsupdate-from': '',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(folder, 'pdns.conf'), lines.join(''));
  run(
    folder,
    'pdnsutil',
    `--config-dir=${folder}`,
    'load-zone',
    'a.test',
    join(folder, 'a.test.zone'),
  );
}

async function finishPowerdns(
  port: number,
  { allowed, others }: ServerKeys,
): Promise<NameServer['api']> {
  const api = { url: `http://127.0.0.2:${port}`, key: API_KEY };
  const call = async (method: string, path: string, body: string) => {
    const headers = { 'x-api-key': api.key, 'content-type': 'application/json' };
    const response = await fetch(`${api.url}/api/v1/servers/localhost${path}`, {
      method,
      headers,
      body,
    });
    if (!response.ok)
      throw new Error(`PowerDNS returned ${response.status}: ${await response.text()}`);
  };
  for (const key of [allowed, ...others])
    await call('POST', '/tsigkeys', exportKey('powerdns', key).text);
  await call(
    'PUT',
    '/zones/a.test.',
    JSON.stringify({ master_tsig_key_ids: [`${allowed.name}.`] }),
  );
  await call(
    'PUT',
    '/zones/a.test./metadata/TSIG-ALLOW-DNSUPDATE',
    JSON.stringify({ metadata: [allowed.name] }),
  );
  await call(
    'PUT',
    '/zones/a.test./metadata/ALLOW-DNSUPDATE-FROM',
    JSON.stringify({ metadata: ['127.0.0.0/8'] }),
  );
  return api;
}

/**
 * Runs a program, waits until it exits, and returns its output. Throws an error with the output if
 * the program fails.
 */
export function run(folder: string, program: string, ...parameters: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, {
    cwd: folder,
    env: TOOL_ENVIRONMENT,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/**
 * Waits until the server responds to a query for its zone. Servers do not announce that they are
 * ready.
 */
async function answers(port: number, server: ChildProcess, output: () => string): Promise<void> {
  const question = checkRequest('query', ZONE, 1, '');
  for (;;) {
    if (server.exitCode !== null)
      throw new Error(`The name server ended with ${server.exitCode}: ${output()}`);
    try {
      const response = await queryOverUdp({ host: '127.0.0.1', port }, question, () => true, {
        tries: 1,
        seconds: 0.2,
      });
      if (response.readUInt16BE(6) === 1) return;
    } catch (error) {
      if (!(error instanceof NetError)) throw error;
    }
    await pause(20);
  }
}
