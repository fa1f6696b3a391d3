import { EventEmitter, once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { makePass } from '../../src/nameservers/reconciler/pass.ts';
import type { Verify } from '../../src/nameservers/reconciler/verification.ts';
import {
  differencesOf,
  wantedGrants,
  type Plan,
} from '../../src/nameservers/powerdns/powerdns-plan.ts';
import { bind } from '../harness/brands/bind.ts';
import { startDrivenServer } from '../harness/driven-server.ts';
import { openFolderDelivery, passDependencies, startFolderReconciler } from './set-up.ts';

async function openWithKeys(count: number) {
  const delivery = await openFolderDelivery();
  onTestFinished(() => delivery.close());
  const { opened } = delivery;
  const keys = Array.from({ length: count }, (_, index) => opened.key(`k${index}`));
  for (let start = 0; start < count; start += 1000)
    await opened.createAll('tsigkeys', keys.slice(start, start + 1000));
  return delivery;
}

test('an idle reconciler writes heartbeats only', async () => {
  const delivery = await openWithKeys(100);
  const { opened } = delivery;
  const passes = new EventEmitter();
  const passed = once(passes, 'pass');
  startFolderReconciler(delivery, {
    observe: (result) => passes.emit('pass', result.keysLive),
  });
  expect(await passed).toEqual([100]);
  const before = opened.statements().length;
  const isHeartbeat = (text: string) => text.includes('SET seen_at');
  const written = () => opened.statements().slice(before);
  await expect.poll(() => written().filter(isHeartbeat)).not.toEqual([]);
  expect(written().filter((text) => !isHeartbeat(text))).toEqual([]);
});

describe.runIf(bind.isInstalled())('a pass for a BIND server with many keys', () => {
  test('adds one of 10,000 keys, finds no change after a restart, and repairs an edited file', async () => {
    const count = 10_000;
    const delivery = await openWithKeys(count);
    const { opened, server } = delivery;
    const named = await startDrivenServer(bind);
    onTestFinished(() => named.remove());
    const verify: Verify = () => Promise.resolve({ failures: new Map(), open: undefined });
    /** Returns the dependencies of a pass after a restart of the process. */
    const restarted = () => {
      const driver = DRIVERS.bind?.create(bind.options(named), server);
      return passDependencies(delivery, { ...(driver && { driver }), verify });
    };
    let dependencies = restarted();
    const expectPass = async (expected: object) =>
      expect(await makePass(dependencies, server)).toMatchObject(expected);
    const check = () => dependencies.store.checkNow([server]);
    await expectPass({ outcome: 'changed', keysLive: count });
    for (let round = 0; round < 3; round += 1) {
      await opened.create('tsigkeys', opened.key(`more-${round}`));
      await expectPass({ added: [`more-${round}`] });
    }
    await check();
    await expectPass({ outcome: 'unchanged' });
    dependencies = restarted();
    await check();
    await expectPass({ outcome: 'unchanged' });
    await bind.edit(named, 'k1', 'k2');
    await check();
    await expectPass({ outcome: 'changed', foundDrift: true });
  });
});

test('the PowerDNS driver compares the keys of a zone in time proportional to their number', () => {
  const named = Array.from({ length: 200_000 }, (_, index) => `k${index}`);
  const keys = named.map((name) => ({
    id: name,
    name,
    algorithm: 'hmac-sha256',
    secret: 'c2VjcmV0',
    version: 1,
    access: { transfer: ['a.test'], update: ['a.test'] },
  }));
  const state = { zones: ['a.test'], keys };
  const grants = {
    transfer: named,
    update: named,
    updateFrom: ['::/0'],
    formerFrom: [],
    requester: undefined,
  };
  const names = new Set(named);
  const plan: Plan = {
    known: {
      keys: new Map(keys.map((key) => [key.name, key])),
      grants: new Map([['a.test', grants]]),
    },
    zones: ['a.test'],
    present: names,
    ours: names,
    keys,
    taken: [],
    adopted: [],
    advice: new Map(),
    wanted: wantedGrants(state, keys),
    successors: new Map<string, string>(),
  };
  // Work in quadratic time would take longer than a test may.
  expect(differencesOf(plan)).toEqual([]);
});
