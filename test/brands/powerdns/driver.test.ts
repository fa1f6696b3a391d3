import { createSocket } from 'node:dgram';
import { expect, test } from 'vitest';
import type { DesiredKey } from '../../../src/brands/desired-state.ts';
import { RIGHTS } from '../../../src/access/rights.ts';
import { checkRequest } from '../../../src/dns/key-check.ts';
import { findOpenRights } from '../../../src/net/probe.ts';
import { ZONES, type DrivenServer } from '../../harness/driven-server.ts';
import { describeDriver, DRIVER_ID, newKey } from '../driver-contract.ts';
import { call, FOREIGN, powerdns } from '../../harness/brands/powerdns.ts';

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

/** The response code for a request without a right (RFC 1035 section 4.1.1). */
const REFUSED = 5;

describeDriver(powerdns, (session) => {
  const soon = () => AbortSignal.timeout(60_000);

  test('grants to keys of other programs stay, and removed keys lose their grants', async () => {
    const { server, apply } = session();
    const { folder, controlPort } = server;
    await apply();
    expect(await grantsOf(server)).toEqual({ transfer: [], update: [], from: [] });
    const grant = (body: object, path = '') =>
      call(folder, controlPort, 'PUT', `/zones/a.test.${path}`, body);
    await grant({ master_tsig_key_ids: [`${FOREIGN}.`] });
    await grant({ metadata: [FOREIGN] }, '/metadata/TSIG-ALLOW-DNSUPDATE');
    await grant({ metadata: ['127.0.0.1/32'] }, '/metadata/ALLOW-DNSUPDATE-FROM');
    const key = newKey({ rights: ['transfer', 'update'] });
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

  test.each([
    { networks: ['127.0.0.0/8'], expected: ['127.0.0.0/8'] },
    { networks: [], expected: ['0.0.0.0/0', '::/0'] },
  ])(
    'if a pass changes the keys but not the networks $networks of a zone, the next pass changes the networks',
    async ({ networks, expected }) => {
      const { server, apply, driver, expectKey } = session();
      const key = newKey({ rights: ['update'] });
      await apply(key);
      const set = (kind: string, metadata: readonly string[]) => {
        const path = `/zones/a.test./metadata/${kind}`;
        return call(server.folder, server.controlPort, 'PUT', path, { metadata });
      };
      await set('ALLOW-DNSUPDATE-FROM', []);
      await set('X-TSIGIL-DNSUPDATE-FROM', networks);
      const state = { zones: ZONES, keys: [key] };
      expect(await driver.compare(state, new Set([key.name]), soon())).toHaveLength(1);
      await apply(key);
      await expectKey(key, true);
      expect((await grantsOf(server)).from).toEqual(expected);
      expect(await driver.compare(state, new Set([key.name]), soon())).toEqual([]);
      await set('ALLOW-DNSUPDATE-FROM', ['0.0.0.0/0', '::/0']);
      await apply();
    },
  );

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

  test('a zone refuses all unsigned updates while its keys change', async () => {
    const { server, apply, expectKey } = session();
    const keys = Array.from({ length: 50 }, () => newKey({ rights: ['update'] }));
    await apply(...keys);
    const { host, port } = server.address;
    const socket = createSocket('udp4');
    const codes = new Map<number, number>();
    socket.on('message', (message) => {
      const code = message.readUInt8(3) & 0x0f;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    });
    const request = checkRequest('update', 'a.test', 1, 'unsigned');
    const sending = setInterval(() => {
      for (let count = 0; count < 4; count += 1) socket.send(request, port, host);
    }, 1);
    for (let round = 0; round < 20; round += 1)
      await apply(...keys, newKey({ rights: ['update'] }));
    clearInterval(sending);
    for (const key of keys.slice(0, 2)) await expectKey(key, true);
    socket.close();
    expect([...codes.keys()]).toEqual([REFUSED]);
  });

  test('a key with the name of a stamp is not applied; other keys are, and removed keys are refused', async () => {
    const { driver, state, expectKey } = session();
    const stamps = ['0123456789abcdef'];
    const apply = (...keys: readonly DesiredKey[]) =>
      driver.apply({ ...state(keys), stamps }, new Set(owned), soon());
    const removed = Array.from({ length: ZONES.length + 1 }, () => newKey({ rights: RIGHTS }));
    const owned = removed.map(({ name }) => name);
    await apply(...removed);
    const key = newKey({ rights: RIGHTS });
    owned.push(key.name);
    for (const end of [DRIVER_ID, 'other']) {
      const taken = newKey({ rights: RIGHTS, name: `tsigil-stamp-${end}` });
      expect((await apply(taken, key)).problems).toEqual([
        { id: taken.id, code: 'name_taken', message: expect.stringContaining(taken.name) },
      ]);
      await expectKey(taken, false);
      expect(
        await driver.compare({ ...state([taken, key]), stamps }, new Set(owned), soon()),
      ).toEqual([]);
    }
    await expectKey(key, true);
    for (const each of removed) await expectKey(each, false);
    expect(await driver.stamp(soon())).toBe(stamps[0]);
    await apply();
  });

  test.each([1, 2 * ZONES.length])(
    'while PowerDNS refuses new keys, it refuses %i removed keys and accepts the other new keys',
    async (count) => {
      const { server, driver, state, expectKey } = session();
      const removed = Array.from({ length: count }, () => newKey({ rights: RIGHTS }));
      const [key, raced] = [newKey({ rights: RIGHTS }), newKey({ rights: RIGHTS })];
      const unknown = newKey({ rights: RIGHTS, algorithm: 'hmac-unknown' });
      const owned = new Set([...removed, key].map(({ name }) => name));
      await driver.apply(state(removed), owned, soon());
      // Another program creates a key after the driver has read the names.
      const create = async () => {
        const body = {
          name: `${raced.name}.`,
          algorithm: raced.algorithm,
          key: newKey({ rights: RIGHTS }).secret,
        };
        await call(server.folder, server.controlPort, 'POST', '/tsigkeys', body);
      };
      const { problems } = await driver.apply(state([raced, key]), owned, soon(), create);
      expect(problems.map(({ id, code }) => [id, code])).toEqual([[raced.id, 'name_taken']]);
      await expectKey(raced, false);
      await expectKey(key, true);
      for (const each of removed) await expectKey(each, false);

      const other = newKey({ rights: RIGHTS });
      for (const { name } of [other, unknown]) owned.add(name);
      await expect(driver.apply(state([unknown, other]), owned, soon())).rejects.toMatchObject({
        code: 'refused_by_server',
      });
      await expectKey(key, false);
      await expectKey(other, true);
      await driver.apply(state([]), owned, soon());
      await call(server.folder, server.controlPort, 'DELETE', `/tsigkeys/${raced.name}.`);
    },
  );
});
