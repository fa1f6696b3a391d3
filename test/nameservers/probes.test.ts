import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Access, DesiredKey, Right } from '../../src/domain/delivery/desired-state.ts';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { verifyByQueries, verifySlowly } from '../../src/nameservers/reconciler/verification.ts';
import { findServedZone, verifyExpectations, type Expectation } from '../../src/net/probe.ts';
import { freePort } from '../harness/connections.ts';
import { bind } from '../harness/brands/bind.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { DRIVER_ID, newKey } from './driver-contract.ts';

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

test('the choice of zones to test restricted keys in does not read each zone for each key', async () => {
  const reads = { count: 0 };
  const zones = new Proxy(
    Array.from({ length: 5000 }, (_, index) => `z${index}.test`),
    {
      get(target, name, receiver): unknown {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads.count += 1;
        return Reflect.get(target, name, receiver);
      },
    },
  );
  const keys = Array.from({ length: 50 }, () =>
    newKey({ rights: ['transfer'], zones: ['z1.test', 'z2.test'] }),
  );
  const right = 'transfer';
  const plan = {
    accepted: [],
    refused: [],
    restricted: keys.map((key) => ({ key, right, former: ['former.test'] }) as const),
  };
  const target = { name: 'ns1', driver: 'bind', address: 'no address', probe_zone: null };
  const { signal } = new AbortController();
  await verifyByQueries(target, zones, plan, signal, () => Promise.resolve(false));
  expect(reads.count).toBeGreaterThanOrEqual(keys.length);
  expect(reads.count).toBeLessThan(2 * zones.length);
});

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

  test('sends one request for each right, and at most eight queries for the serial number', async () => {
    const keys = Array.from({ length: 40 }, () => newKey({ rights: RIGHTS }));
    const driver = DRIVERS[bind.driver]?.create(bind.options(server), DRIVER_ID);
    await driver?.apply({ zones: ZONES, keys }, new Set(), AbortSignal.timeout(60_000));
    const counter = await startCounter(server.address.port);
    const expectations = keys.flatMap((key) =>
      RIGHTS.map((check): Expectation => ({ key, check, zone: ZONE, accepted: true })),
    );
    const address = { host: '127.0.0.1', port: counter.port };
    const signal = AbortSignal.timeout(60_000);
    const outcomes = await verifyExpectations(address, expectations, Date.now, signal);
    counter.close();
    expect(outcomes.filter(({ met }) => !met)).toEqual([]);
    expect(counter.count.tcp).toBe(keys.length);
    // Eight probes run at the same time, so at most eight probes begin before the serial number is
    // known.
    expect(counter.count.udp - keys.length).toBeLessThanOrEqual(8);
  });

  /** Verifies a key that the server has with its access, as if it should have another one. */
  const verifyNarrow = (port: number, key: DesiredKey, right: Right, access: Access) => {
    const narrow = { ...key, access };
    const target = { name: 'ns1', driver: 'bind', address: `127.0.0.1:${port}`, probe_zone: null };
    const restricted = [{ key: narrow, right, former: key.access[right] }];
    const plan = { accepted: [], refused: [], restricted };
    const signal = AbortSignal.timeout(60_000);
    return verifyByQueries(target, ZONES, plan, signal, () => Promise.resolve(false));
  };

  test('a scheduled verification tests one right of each key, and queries the serial number and the unsigned rights once', async () => {
    const accepted = Array.from({ length: 12 }, () => newKey({ rights: RIGHTS }));
    const driver = DRIVERS[bind.driver]?.create(bind.options(server), DRIVER_ID);
    const signal = AbortSignal.timeout(60_000);
    await driver?.apply({ zones: ZONES, keys: accepted }, new Set(), signal);
    const { port, count, close } = await startCounter(server.address.port);
    const target = { name: 'ns1', driver: 'bind', address: `127.0.0.1:${port}`, probe_zone: null };
    const go = () => Promise.resolve(false);
    const verdict = await verifySlowly(verifyByQueries, target, ZONES, { accepted }, go, signal);
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

  /** Expects a new key, which the server does not have, to be accepted. */
  const unmet = (): Expectation => ({
    key: newKey({ rights: ['transfer'] }),
    check: 'transfer',
    zone: ZONE,
    accepted: true,
  });
  /** Returns the number of queries that the verification of `count` unknown keys sends. */
  const queriesFor = async (count: number, isInterrupted = () => Promise.resolve(false)) => {
    const counter = await startCounter(server.address.port);
    const address = { host: '127.0.0.1', port: counter.port };
    const expectations = Array.from({ length: count }, unmet);
    const signal = AbortSignal.timeout(60_000);
    const outcomes = await verifyExpectations(
      address,
      expectations,
      Date.now,
      signal,
      isInterrupted,
    );
    counter.close();
    expect(outcomes.map(({ met, result }) => [met, result.verdict])).toEqual(
      expectations.map(() => [false, 'unknown key']),
    );
    return counter.count.udp;
  };

  test('repeats the check of a key that the server does not have eight times, and for 200 such keys only of the three that it checks first', async () => {
    expect(await queriesFor(1)).toBe(9);
    expect(await queriesFor(200)).toBeLessThanOrEqual(200 + 3 * 8);
  });

  test('a waiting change interrupts the retries of an unmet expectation, not before the first one', async () => {
    const queries = await queriesFor(1, () => Promise.resolve(true));
    expect(queries).toBeGreaterThan(1);
    expect(queries).toBeLessThan(9);
  });

  test('queries a zone that the server serves, even if the server does not serve the first zone', async () => {
    const { address } = server;
    expect(await findServedZone(address, ['0.test', ...ZONES])).not.toBe('0.test');
    expect(await findServedZone(address, ZONES)).toBe(ZONES[0]);
    expect(await findServedZone(address, ['0.test'])).toBe('0.test');
    expect(await findServedZone(address, [])).toBeUndefined();
  });
});
