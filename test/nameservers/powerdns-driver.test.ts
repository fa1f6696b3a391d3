import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { findOpenRights } from '../../src/nameservers/probe.ts';
import { ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { run } from '../harness/name-servers.ts';
import { SECRET } from '../harness/samples.ts';
import { hasProgram } from '../harness/tools.ts';
import { describeDriver, newKey, type DriverCase } from './driver-contract.ts';
import { moduleFolder, SCHEMA } from './powerdns-server.ts';

const FOREIGN = 'hand-made.example';

/** Sends a request to the API, as another program would. */
async function call(
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

const powerdns: DriverCase = {
  name: 'PowerDNS',
  driver: 'powerdns',
  installed:
    hasProgram('pdns_server', 'pdns-server') && hasProgram('pdnsutil', 'pdns-backend-sqlite3'),
  foreign: FOREIGN,
  configure(folder, port, controlPort) {
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
    for (const zone of ZONES)
      run(
        folder,
        'pdnsutil',
        `--config-dir=${folder}`,
        'load-zone',
        zone,
        join(folder, `${zone}.zone`),
      );
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
};

const grantsOf = async ({ folder, controlPort }: DrivenServer) => {
  const zone = (await call(folder, controlPort, 'GET', '/zones/a.test.?rrsets=false')) as {
    readonly master_tsig_key_ids: readonly string[];
  };
  const metadata = async (item: string) =>
    (
      (await call(folder, controlPort, 'GET', `/zones/a.test./metadata/${item}`)) as {
        readonly metadata: readonly string[];
      }
    ).metadata;
  return {
    transfer: zone.master_tsig_key_ids,
    update: await metadata('TSIG-ALLOW-DNSUPDATE'),
    from: await metadata('ALLOW-DNSUPDATE-FROM'),
  };
};

describeDriver(powerdns, (session) => {
  const definition = DRIVERS.powerdns;
  const soon = () => AbortSignal.timeout(10_000);

  test('grants to keys of others stay, and no grant stays without its key', async () => {
    const { server, apply, driver } = session();
    const { folder, controlPort } = server;
    await apply();
    expect(await grantsOf(server)).toEqual({ transfer: [], update: [], from: [] });
    const grant = (body: object, path = '') =>
      call(folder, controlPort, 'PUT', `/zones/a.test.${path}`, body);
    await grant({ master_tsig_key_ids: [`${FOREIGN}.`] });
    await grant({ metadata: [FOREIGN] }, '/metadata/TSIG-ALLOW-DNSUPDATE');
    await grant({ metadata: ['127.0.0.1/32'] }, '/metadata/ALLOW-DNSUPDATE-FROM');
    const key = newKey({ rights: ['transfer', 'update'] });
    // The next comparison reads what others changed.
    await driver.compare({ zones: ZONES, keys: [key] }, new Set(), soon());
    await apply(key);
    expect(await grantsOf(server)).toEqual({
      transfer: [`${FOREIGN}.`, `${key.name}.`],
      update: [FOREIGN, key.name],
      from: ['127.0.0.1/32'],
    });
    await apply();
    expect(await grantsOf(server)).toEqual({
      transfer: [`${FOREIGN}.`],
      update: [FOREIGN],
      from: ['127.0.0.1/32'],
    });
    await grant({ master_tsig_key_ids: [] });
    await grant({ metadata: [FOREIGN] }, '/metadata/TSIG-ALLOW-DNSUPDATE');
  });

  test('a zone that is created later gets the keys for all zones', async () => {
    const { server, apply, expectKey, driver } = session();
    const key = newKey({ rights: ['transfer', 'update'] });
    await apply(key);
    const zone = 'later.test';
    await call(server.folder, server.controlPort, 'POST', '/zones', {
      name: `${zone}.`,
      kind: 'Native',
      nameservers: [`ns.${zone}.`],
    });
    await driver.apply({ zones: [...ZONES, zone], keys: [key] }, new Set([key.name]), soon());
    await expectKey(key, true, zone);
    // The zone is no longer in the pool.
    await apply(key);
    await expectKey(key, false, zone);
    expect(await findOpenRights({ server: server.address, zone })).toEqual([]);
    await expectKey(key, true);
  });

  test('a key that Tsigil created before a crash is adopted if it is the same', async () => {
    const { server, expectKey } = session();
    const key = newKey({ rights: ['transfer', 'update'] });
    await call(server.folder, server.controlPort, 'POST', '/tsigkeys', {
      name: `${key.name}.`,
      algorithm: key.algorithm,
      key: key.secret,
    });
    const successor = definition?.create(powerdns.options(server), 'any');
    const result = await successor?.apply({ zones: ZONES, keys: [key] }, new Set(), soon());
    expect(result).toEqual({ changed: true, problems: [] });
    await expectKey(key, true);
  });
});
