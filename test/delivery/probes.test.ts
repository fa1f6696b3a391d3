import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Access, DesiredKey } from '../../src/brands/desired-state.ts';
import type { Right } from '../../src/access/rights.ts';
import { DRIVERS } from '../../src/brands/drivers.ts';
import { verifyByQueries, verifySlowly } from '../../src/delivery/reconciler/verification.ts';
import { findServedZone, verifyExpectations } from '../../src/net/probe.ts';
import { freePort } from '../harness/connections.ts';
import { bind } from '../harness/brands/bind.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { DRIVER_ID, newKey } from '../brands/driver-contract.ts';

const ZONE = ZONES[0];
const RIGHTS = ['transfer', 'update'] as const;

/**
 * Forwards queries over UDP and connections over TCP to a name server, and counts both, and the
 * most connections that waited for a response at once. A query that is sent again because its
 * response is late counts once. `alter` changes the responses over UDP.
 */
async function startCounter(target: number, alter: (response: Buffer) => void = () => undefined) {
  const count = { udp: 0, tcp: 0, most: 0 };
  const queries = new Set<string>();
  let waiting = 0;
  const tcp = createServer((near) => {
    count.tcp += 1;
    waiting += 1;
    count.most = Math.max(count.most, waiting);
    const far = connect(target, '127.0.0.1');
    far.once('data', () => (waiting -= 1));
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  }).listen(await freePort(), '127.0.0.1');
  await once(tcp, 'listening');
  const address = tcp.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const udp = createSocket('udp4');
  udp.on('message', (query, from) => {
    count.udp = queries.add(query.toString('hex')).size;
    const far = createSocket('udp4');
    far.on('message', (response) => {
      alter(response);
      udp.send(response, from.port, from.address);
      far.close();
    });
    far.send(query, target, '127.0.0.1');
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  return { port, count, close: () => (tcp.close(), udp.close()) };
}

describe.runIf(bind.isInstalled())('the verification of many keys on BIND', () => {
  let server: DrivenServer;
  beforeAll(async () => {
    server = await startDrivenServer(bind);
  });

  test('leaves most of the ten transfers that BIND sends at a time to others', async () => {
    const keys = Array.from({ length: 40 }, () => newKey({ rights: ['transfer'] }));
    const driver = DRIVERS[bind.driver]?.create(bind.options(server), DRIVER_ID);
    const signal = AbortSignal.timeout(60_000);
    await driver?.apply({ zones: ZONES, keys }, new Set(), signal);
    const counter = await startCounter(server.address.port);
    const address = { host: '127.0.0.1', port: counter.port };
    const outcomes = await verifyExpectations(
      address,
      keys.map((key) => ({ key, check: 'transfer', zone: ZONE, accepted: true })),
      Date.now,
      signal,
    );
    counter.close();
    expect(outcomes.filter(({ met }) => met).length).toBe(keys.length);
    expect(counter.count.most).toBeGreaterThan(1);
    expect(counter.count.most).toBeLessThanOrEqual(3);
  });

  /** Verifies a key that the server has with its access, as if it should have another one. */
  const verifyNarrow = (port: number, key: DesiredKey, right: Right, access: Access) => {
    const narrow = { ...key, access };
    const target = { name: 'ns1', driver: 'bind', address: `127.0.0.1:${port}`, probe_zone: null };
    const restrictedKeys = [{ key: narrow, right, former: key.access[right] }];
    const plan = { acceptedKeys: [], removedKeys: [], restrictedKeys };
    const signal = AbortSignal.timeout(60_000);
    return verifyByQueries(target, ZONES, plan, signal, () => Promise.resolve(false));
  };

  test('a scheduled verification tests one right of each key, and queries the serial number and the unsigned rights once', async () => {
    const acceptedKeys = Array.from({ length: 12 }, () => newKey({ rights: RIGHTS }));
    const driver = DRIVERS[bind.driver]?.create(bind.options(server), DRIVER_ID);
    const signal = AbortSignal.timeout(60_000);
    await driver?.apply({ zones: ZONES, keys: acceptedKeys }, new Set(), signal);
    const { port, count, close } = await startCounter(server.address.port);
    const target = { name: 'ns1', driver: 'bind', address: `127.0.0.1:${port}`, probe_zone: null };
    const go = () => Promise.resolve(false);
    const verdict = await verifySlowly(
      verifyByQueries,
      target,
      ZONES,
      { acceptedKeys },
      go,
      signal,
    );
    close();
    expect(verdict).toEqual({ failures: new Map(), open: undefined, verified: 12 });
    // The unsigned one, and few that got no response over UDP in time, instead of 13.
    expect(count.tcp).toBeLessThanOrEqual(4);
    // The zone, the serial number for the keys of the first part, a right of each key, and an unsigned one.
    expect(count.udp).toBeLessThanOrEqual(1 + 4 + 12 + 1);
  });

  test('names the zone or the right that the server gives to a key against its grants', async () => {
    const keys = [newKey({ rights: RIGHTS }), newKey({ rights: ['transfer'] })] as const;
    const driver = DRIVERS[bind.driver]?.create(bind.options(server), DRIVER_ID);
    const signal = AbortSignal.timeout(60_000);
    await driver?.apply({ zones: ZONES, keys }, new Set(), signal);
    const verify = (key: DesiredKey, right: Right, access: Access) =>
      verifyNarrow(server.address.port, key, right, access);
    const [wide, exact] = keys;
    for (const [right, access, message] of [
      ['transfer', { transfer: ['a.test'], update: 'all' }, "may transfer the zone 'b.test'"],
      ['update', { transfer: 'all', update: ['b.test'] }, "may update the zone 'a.test'"],
    ] as const)
      expect([...(await verify(wide, right, access)).failures]).toEqual([
        [wide.id, { code: 'too_wide', message: expect.stringContaining(message) as string }],
      ]);
    expect((await verify(exact, 'update', exact.access)).failures).toEqual(new Map());
  });

  test('does not blame a key for a zone that is open to unsigned requests, or for altered responses', async () => {
    const key = newKey({ rights: ['transfer'], zones: ['a.test'] });
    const driver = DRIVERS[bind.driver]?.create(bind.options(server), DRIVER_ID);
    await driver?.apply({ zones: ZONES, keys: [key] }, new Set(), AbortSignal.timeout(60_000));
    const counter = await startCounter(server.address.port, (response) => {
      const last = response.length - 7; // of the signature, if there is one
      response.writeUInt8(response.readUInt8(last) ^ 1, last);
    });
    const altered = await verifyNarrow(counter.port, key, 'update', key.access);
    counter.close();
    expect([...altered.failures]).toEqual([
      [key.id, { code: 'not_verified', message: expect.stringContaining('signature') as string }],
    ]);

    const main = join(server.folder, 'named.conf');
    const former = readFileSync(main, 'utf8');
    const list = 'allow-transfer { "tsigil-transfer"; "tsigil-transfer-b.test"; };';
    const restart = async (text: string) => {
      await server.stop();
      writeFileSync(main, text);
      await server.start();
    };
    await restart(former.replace(list, 'allow-transfer { any; };'));
    const { failures, open } = await verifyNarrow(
      ...([server.address.port, key, 'transfer', key.access] as const),
    );
    await restart(former);
    expect(open).toMatchObject({
      code: 'open',
      message: expect.stringContaining("zone 'b.test': transfer"),
    });
    expect([...failures]).toEqual([]);
  });

  test('queries a zone that the server serves, even if the server does not serve the first zone', async () => {
    const { address } = server;
    expect(await findServedZone(address, ['0.test', ...ZONES])).not.toBe('0.test');
    expect(await findServedZone(address, ZONES)).toBe(ZONES[0]);
    expect(await findServedZone(address, ['0.test'])).toBe('0.test');
    expect(await findServedZone(address, [])).toBeUndefined();
  });
});
