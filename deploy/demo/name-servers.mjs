// The name servers that the demo can run. Each name server has the configuration that
// docs/nameservers/ shows, in a temporary folder and without root.
import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { findProgram } from './processes.mjs';

const SCHEMA = '/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql';

/**
 * Returns the folder of the PowerDNS modules, or undefined if the SQLite module is not installed.
 */
function moduleFolder() {
  return readdirSync('/usr/lib')
    .map((name) => join('/usr/lib', name, 'pdns'))
    .find((folder) => existsSync(join(folder, 'libgsqlite3backend.so')));
}

/**
 * The name servers by the names of their drivers. `configure` writes the configuration for a zone
 * and returns the options of the driver. `parameters` returns the arguments of the program.
 */
export const NAME_SERVERS = {
  bind: {
    title: 'BIND',
    program: 'named',
    packages: 'bind9',
    installed: () => true,
    configure({ folder, file, zone, port, controlPort }) {
      const secret = randomBytes(32).toString('base64');
      writeFileSync(
        join(folder, 'rndc.key'),
        `key "rndc-key" { algorithm hmac-sha256; secret "${secret}"; };\n`,
      );
      writeFileSync(
        file,
        ['transfer', 'update']
          .flatMap((right) => [`tsigil-${right}`, `tsigil-${right}-${zone}`])
          .map((name) => `acl "${name}" { none; };\n`)
          .join(''),
      );
      writeFileSync(
        join(folder, 'named.conf'),
        `include "${folder}/rndc.key";
include "${file}";
options {
  directory "${folder}"; pid-file none; lock-file none; session-keyfile "${folder}/session.key";
  listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; notify no;
  dnssec-validation no; allow-transfer { "tsigil-transfer"; };
};
controls { inet 127.0.0.1 port ${controlPort} allow { 127.0.0.1; } keys { "rndc-key"; }; };
zone "${zone}" {
  type primary; file "${folder}/${zone}.zone";
  allow-transfer { "tsigil-transfer"; "tsigil-transfer-${zone}"; };
};
`,
      );
      return { file, controlPort, controlKeyFile: join(folder, 'rndc.key') };
    },
    parameters: (folder) => ['-c', join(folder, 'named.conf'), '-n', '1', '-g'],
  },
  knot: {
    title: 'Knot DNS',
    program: 'knotd',
    packages: 'knot',
    installed: () => true,
    configure({ folder, file, zone, port }) {
      const names = ['transfer', 'update'].flatMap((right) => [
        [right, `tsigil-${right}`],
        [right, `tsigil-${right}-${zone}`],
      ]);
      const rules = names.map(
        ([right, name]) =>
          `  - id: "${name}"\n    action: ${right}\n    address: 0.0.0.0/32\n    deny: on\n`,
      );
      writeFileSync(file, `acl:\n${rules.join('')}`);
      writeFileSync(
        join(folder, 'knot.conf'),
        `server:
    rundir: "${folder}"
    listen: 127.0.0.1@${port}
    automatic-acl: off
database:
    storage: "${folder}"
include: "${file}"
zone:
  - domain: ${zone}
    storage: "${folder}"
    file: ${zone}.zone
    acl: [${names.map(([, name]) => name).join(', ')}]
`,
      );
      return { file, controlSocket: join(folder, 'knot.sock') };
    },
    parameters: (folder) => ['-c', join(folder, 'knot.conf')],
  },
  nsd: {
    title: 'NSD',
    program: 'nsd',
    packages: 'nsd',
    installed: () => true,
    configure({ folder, file, zone, port }) {
      const names = ['tsigil-transfer', `tsigil-transfer-${zone}`];
      writeFileSync(file, names.map((name) => `pattern:\n    name: "${name}"\n`).join(''));
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
    pidfile: "${folder}/nsd.pid"
    xfrdfile: "${folder}/xfrd.state"
    zonelistfile: "${folder}/zone.list"
remote-control:
    control-enable: yes
    control-interface: "${folder}/nsd.sock"
include: "${file}"
zone:
    name: ${zone}
    zonefile: ${zone}.zone
${names.map((name) => `    include-pattern: "${name}"\n`).join('')}`,
      );
      return { file, controlSocket: join(folder, 'nsd.sock') };
    },
    parameters: (folder) => ['-d', '-c', join(folder, 'nsd.conf')],
  },
  powerdns: {
    title: 'PowerDNS',
    program: 'pdns_server',
    packages: 'pdns-server pdns-backend-sqlite3',
    installed: () =>
      findProgram('pdnsutil') !== undefined && existsSync(SCHEMA) && moduleFolder() !== undefined,
    async configure({ folder, zone, port, controlPort, run }) {
      const { DatabaseSync } = await import('@photostructure/sqlite');
      const apiKey = randomBytes(32).toString('hex');
      const apiKeyFile = join(folder, 'api-key');
      writeFileSync(apiKeyFile, apiKey, { mode: 0o600 });
      mkdirSync(join(folder, 'run'));
      const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
      database.exec(readFileSync(SCHEMA, 'utf8'));
      database.close();
      writeFileSync(
        join(folder, 'pdns.conf'),
        `launch=gsqlite3
gsqlite3-database=${folder}/pdns.sqlite3
module-dir=${moduleFolder()}
socket-dir=${folder}/run
local-address=127.0.0.1
local-port=${port}
daemon=no
guardian=no
api=yes
api-key=${apiKey}
webserver=yes
webserver-address=127.0.0.1
webserver-port=${controlPort}
allow-axfr-ips=
dnsupdate=yes
allow-dnsupdate-from=
`,
        { mode: 0o600 },
      );
      const zoneFile = join(folder, `${zone}.zone`);
      await run(findProgram('pdnsutil'), [`--config-dir=${folder}`, 'load-zone', zone, zoneFile]);
      return { url: `http://127.0.0.1:${controlPort}`, apiKeyFile };
    },
    parameters: (folder) => [`--config-dir=${folder}`],
  },
};

/** Returns the names of the drivers whose name servers are installed. */
export function installedDrivers() {
  return Object.entries(NAME_SERVERS)
    .filter(([, { program, installed }]) => findProgram(program) !== undefined && installed())
    .map(([driver]) => driver);
}

/**
 * Copies a program into the folder, and returns the path of the copy. AppArmor restricts a program
 * at its installed path to the folders of its package.
 */
export function copyProgram(name, folder) {
  const copy = join(folder, basename(name));
  copyFileSync(findProgram(name), copy);
  return copy;
}
