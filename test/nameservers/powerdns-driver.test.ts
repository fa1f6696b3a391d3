import { expect, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { findOpenRights } from '../../src/nameservers/probe.ts';
import { ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { describeDriver, newKey } from './driver-contract.ts';
import { call, FOREIGN, powerdns } from '../harness/brands/powerdns.ts';

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

  test('grants to keys of other programs stay, and removed keys lose their grants', async () => {
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
    // A comparison makes the driver read the changes by other programs.
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

  test('the keys for all zones also apply to a zone that is created later', async () => {
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
    // From here on, the zone is not in the pool.
    await apply(key);
    await expectKey(key, false, zone);
    expect(await findOpenRights({ server: server.address, zone })).toEqual([]);
    await expectKey(key, true);
  });

  test('the driver adopts an equal key that it created before a crash', async () => {
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
