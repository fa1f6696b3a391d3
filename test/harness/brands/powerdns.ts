import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { ZONES } from '../driven-server.ts';
import { SECRET } from '../samples.ts';
import { hasProgram, run } from '../tools.ts';
import type { Brand } from './brand.ts';
import { moduleFolder, SCHEMA } from './powerdns-server.ts';

export const FOREIGN = 'hand-made.example';

/** Sends a request to the PowerDNS API without the driver. */
export async function call(
  folder: string,
  controlPort: number,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${controlPort}/api/v1/servers/localhost${path}`, {
    method,
    headers: {
      'x-api-key': readFileSync(join(folder, 'api-key'), 'utf8'),
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok && response.status !== 409)
    throw new Error(`PowerDNS returned ${response.status}: ${await response.text()}`);
  return response.status === 200 ? response.json() : undefined;
}

/** PowerDNS on SQLite, with the zones of `ZONES`. */
export const powerdns: Brand = {
  name: 'PowerDNS',
  driver: 'powerdns',
  main: 'pdns.conf',
  isInstalled: () =>
    hasProgram('pdns_server', 'pdns-server') && hasProgram('pdnsutil', 'pdns-backend-sqlite3'),
  foreign: FOREIGN,
  configure(folder, port, controlPort, zones = ZONES) {
    const apiKey = randomBytes(16).toString('hex');
    writeFileSync(join(folder, 'api-key'), apiKey);
    writeFileSync(join(folder, 'wrong-api-key'), randomBytes(16).toString('hex'));
    mkdirSync(join(folder, 'run'));
    const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
    database.exec(readFileSync(SCHEMA, 'utf8'));
    database.close();
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
      'api-key': apiKey,
      webserver: 'yes',
      'webserver-address': '127.0.0.1',
      'webserver-port': controlPort,
      'allow-axfr-ips': '',
      dnsupdate: 'yes',
      'allow-dnsupdate-from': '',
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(folder, 'pdns.conf'), lines.join(''));
    const files = zones.flatMap((zone) => [zone, join(folder, `${zone}.zone`)]);
    run(folder, 'pdnsutil', `--config-dir=${folder}`, 'load-zone', ...files);
  },
  command: (folder) => ['pdns_server', `--config-dir=${folder}`],
  async ready(folder, controlPort) {
    const key = { name: `${FOREIGN}.`, algorithm: 'hmac-sha256', key: SECRET };
    await call(folder, controlPort, 'POST', '/tsigkeys', key);
  },
  options: ({ folder, controlPort }) => ({
    url: `http://127.0.0.1:${controlPort}`,
    apiKeyFile: join(folder, 'api-key'),
  }),
  wrongKey: ({ folder, controlPort }) => ({
    url: `http://127.0.0.1:${controlPort}`,
    apiKeyFile: join(folder, 'wrong-api-key'),
  }),
  async edit({ folder, controlPort }, removed, changed) {
    await call(folder, controlPort, 'DELETE', `/tsigkeys/${removed}.`);
    await call(folder, controlPort, 'PUT', `/tsigkeys/${changed}.`, { key: 'A'.repeat(44) });
  },
  logUses: (text) => `${text}loglevel=5\n`,
  notifyAt(text, port, folder) {
    const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
    database.exec(`UPDATE domains SET type = 'MASTER'`);
    database.close();
    return `${text}primary=yes\nonly-notify=\nalso-notify=127.0.0.1:${port}\ngsqlite3-pragma-synchronous=0\n`;
  },
  notify: ({ folder, controlPort }, zone) =>
    call(folder, controlPort, 'PUT', `/zones/${zone}./notify`),
  replaceByHand(folder, { keys, many }) {
    const database = new DatabaseSync(join(folder, 'pdns.sqlite3'));
    const addKey = database.prepare(
      'INSERT INTO tsigkeys (name, algorithm, secret) VALUES (?, ?, ?)',
    );
    for (const { name, algorithm, secret } of keys) addKey.run(name, algorithm, secret);
    const add = database.prepare(
      'INSERT INTO domainmetadata (domain_id, kind, content) SELECT id, ?, ? FROM domains WHERE name = ?',
    );
    const everyone = ['0.0.0.0/0', '::/0'];
    const metadata = [
      ['a.test', 'TSIG-ALLOW-AXFR', ['k1', 'k2', ...many]],
      ['a.test', 'TSIG-ALLOW-DNSUPDATE', ['k3']],
      ['a.test', 'ALLOW-DNSUPDATE-FROM', everyone],
      ['b.test', 'TSIG-ALLOW-AXFR', ['k4']],
      ['b.test', 'ALLOW-AXFR-FROM', ['127.0.0.8']],
      ['c.test', 'TSIG-ALLOW-AXFR', ['k2']],
      ['d.test', 'TSIG-ALLOW-AXFR', ['k6', 'k5']],
    ] as const;
    for (const [zone, kind, values] of metadata)
      for (const value of values) add.run(kind, value, zone);
    database.close();
  },
};
