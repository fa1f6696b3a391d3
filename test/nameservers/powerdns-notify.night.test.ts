import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DesiredKey, KeyRemoval } from '../../src/domain/delivery/desired-state.ts';
import type { Driver } from '../../src/nameservers/driver.ts';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { probeKey } from '../../src/net/probe.ts';
import { call, powerdns } from '../harness/brands/powerdns.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { notifying } from '../harness/notifying.ts';
import { startSecondary } from '../harness/secondary.ts';
import { newKey } from './driver-contract.ts';

/** Starts a PowerDNS server that notifies a secondary server at `port` of changes. */
async function startPrimary(zones: readonly string[], port: number): Promise<DrivenServer> {
  const server = await startDrivenServer(notifying(powerdns, port), zones);
  onTestFinished(() => server.remove());
  return server;
}

function driverOf(server: Pick<DrivenServer, 'folder' | 'controlPort'>): Driver {
  const driver = DRIVERS.powerdns?.create(powerdns.options(server), 'any');
  if (driver === undefined) throw new Error('There is no driver');
  return driver;
}

/** Sends NOTIFY messages for all zones, over and over, until the returned function is called. */
function notifyAlways({ folder, controlPort }: DrivenServer, zones: readonly string[]) {
  const ending = new AbortController();
  const run = async () => {
    for (let index = 0; !ending.signal.aborted; index += 1) {
      await call(folder, controlPort, 'PUT', `/zones/${zones[index % zones.length]}./notify`);
      await pause(PAUSE_MS); // the driver needs most of the time of the database
    }
  };
  const running = run();
  return async () => {
    ending.abort();
    await running;
  };
}

const PAUSE_MS = 5;

/**
 * Forwards requests to the API of PowerDNS, and records which keys get another secret. Within 5 s, a
 * removed key that signs NOTIFY gets a random one.
 */
async function startKeyRecorder(target: number) {
  const changed = new Set<string>();
  const proxy = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    near.on('data', (octets) => {
      const name = /^PUT \S+\/tsigkeys\/(\S+)\. /.exec(octets.toString('latin1'))?.[1];
      if (name !== undefined) changed.add(name);
    });
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return { port: (proxy.address() as AddressInfo).port, changed };
}

describe.runIf(powerdns.isInstalled())('NOTIFY of PowerDNS', () => {
  test('while one of two keys is removed from all zones, or both are replaced, every NOTIFY has a valid signature', async () => {
    const count = 1000;
    const more = Array.from({ length: count - ZONES.length }, (_, index) => `zone-${index}.test`);
    const zones = [...ZONES, ...more];
    const keyNamed = (name: string) => newKey({ rights: ['transfer'], name });
    const [first, second, third] = [keyNamed('z.test'), keyNamed('y.test'), keyNamed('a.test')];
    const secondary = await startSecondary([first, second, third]);
    const server = await startPrimary(zones, secondary.port);
    const recorder = await startKeyRecorder(server.controlPort);
    const driver = driverOf({ folder: server.folder, controlPort: recorder.port });
    const names = [third, second, first].map(({ name }) => name);
    const apply = (...keys: readonly DesiredKey[]) =>
      driver.apply({ zones, keys }, new Set(names), AbortSignal.timeout(120_000));
    const verdictOn = async (key: DesiredKey, zone: string) =>
      (await probeKey(key, 'transfer', { server: server.address, zone }, Date.now)).verdict;
    /** Waits until the last NOTIFY of each zone is signed with a key. */
    const expectSigner = (key: DesiredKey) =>
      expect
        .poll(() => zones.filter((zone) => secondary.zones.get(zone) !== key.name), {
          timeout: 120_000,
        })
        .toEqual([]);
    await apply(first, second);
    const end = notifyAlways(server, zones);
    try {
      await expectSigner(first);
      secondary.counts.clear(); // PowerDNS also sent NOTIFY messages before there were keys
      recorder.changed.clear();
      // A new key whose name sorts earlier signs nothing, and its removal changes no signature.
      await apply(first, second, third);
      await apply(first, second);
      await expectSigner(first);
      await apply(second);
      for (const zone of zones.slice(0, 3)) expect(await verdictOn(first, zone)).not.toBe('good');
      await expectSigner(second);
      await apply(third);
      for (const zone of zones.slice(0, 3)) expect(await verdictOn(second, zone)).not.toBe('good');
      await expectSigner(third);
    } finally {
      await end();
    }
    const bad = secondary.counts.get('bad') ?? 0;
    secondary.counts.delete('bad');
    expect([...secondary.counts.keys()].toSorted()).toEqual(names);
    // A removed key gets a random secret if a slow machine needs more than 5 s for the zones.
    if (!recorder.changed.has(first.name) && !recorder.changed.has(second.name))
      expect(bad).toBe(0);
  }, 300_000);

  test('a successor signs instead of its predecessor, also of a compromised one', async () => {
    const more = Array.from({ length: 60 - ZONES.length }, (_, index) => `zone-${index}.test`);
    const zones = [...ZONES, ...more];
    const keyNamed = (name: string) => newKey({ rights: ['transfer'], name });
    const [old, other, next, last] = ['old', 'other', 'next', 'last'].map(keyNamed);
    if (!old || !other || !next || !last) throw new Error('A key is missing');
    const all = [old, other, next, last];
    const secondary = await startSecondary(all);
    const server = await startPrimary(zones, secondary.port);
    const driver = driverOf(server);
    const owned = new Set(all.map(({ name }) => name));
    const signal = AbortSignal.timeout(120_000);
    const apply = async (keys: readonly DesiredKey[], removed: readonly KeyRemoval[] = []) => {
      const state = { zones, keys, removed };
      await driver.apply(state, owned, signal);
      expect(await driver.compare(state, owned, signal)).toEqual([]);
    };
    const expectSigner = async ({ name }: DesiredKey) => {
      for (const zone of zones)
        await call(server.folder, server.controlPort, 'PUT', `/zones/${zone}./notify`);
      await expect
        .poll(() => zones.filter((zone) => secondary.zones.get(zone) !== name), {
          timeout: 120_000,
        })
        .toEqual([]);
    };
    await apply([old, other]);
    await apply([old, other, next]);
    await expectSigner(old);
    secondary.counts.clear();
    const state = { zones, keys: [{ ...old, successor: next.name }, other, next] };
    expect(await driver.compare(state, owned, signal)).toHaveLength(zones.length);
    const end = notifyAlways(server, zones);
    try {
      await apply(state.keys);
      await expectSigner(next);
      await apply([other, next], [{ name: old.name, successor: next.name, compromised: false }]);
      await expectSigner(next);
      for (const kind of secondary.counts.keys()) expect([old.name, next.name]).toContain(kind);
      await apply([other, last], [{ name: next.name, successor: last.name, compromised: true }]);
    } finally {
      await end();
    }
    await expectSigner(last);
    expect(secondary.counts.get(other.name)).toBeUndefined();
  }, 300_000);
});
