import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
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
import { knot } from '../harness/brands/knot.ts';
import {
  createKey,
  createZones,
  delivering,
  startDeliveryServer,
  untilLive,
} from '../harness/delivery.ts';
import { startDrivenServer } from '../harness/driven-server.ts';
import { expectLinear } from '../harness/growth.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { IS_TIMED } from '../harness/sizes.ts';
import { openFolderDelivery, passDependencies, startFolderReconciler } from './set-up.ts';

/** The time limits of a pass. */
const LIMITS = { passMs: 2000, blockedMs: 50 };

const AT = '2026-01-02T03:04:05.000006';

async function openWithKeys(count: number) {
  const delivery = await openFolderDelivery();
  onTestFinished(() => delivery.close());
  const { opened } = delivery;
  const keys = Array.from({ length: count }, (_, index) => ({
    ...opened.key(`k${index}`),
    id: randomUUID(),
    created_at: AT,
    updated_at: null,
  }));
  for (let start = 0; start < count; start += 1000)
    await opened.import('tsigkeys', keys.slice(start, start + 1000));
  return delivery;
}

test('an idle reconciler writes heartbeats only', async () => {
  const delivery = await openWithKeys(100);
  startFolderReconciler(delivery);
  const { opened, folder } = delivery;
  await expect.poll(() => Object.keys(folder.keys()).length).toBe(100);
  await pause(200);
  const before = opened.statements().length;
  await pause(2000);
  const written = opened.statements().slice(before);
  const others = written.filter((text) => !text.includes('SET seen_at'));
  expect(others).toEqual([]);
}, 300_000);

/** Returns the CPU time that all existing threads of a process have used, in seconds. */
function processorSeconds(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(folder).map((id) => {
    try {
      return Number(readFileSync(`${folder}/${id}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      return 0; // the thread has ended since
    }
  });
  return nanoseconds.reduce((sum, each) => sum + each / 1e9, 0);
}

test.runIf(knot.isInstalled())(
  'an idle service with three name servers makes at most two commits besides its heartbeats, and uses less than 0.5 % of a processor',
  async () => {
    const folder = temporaryFolder();
    const names = ['one', 'two', 'three'];
    const servers = await Promise.all(names.map((name) => startDeliveryServer(knot, name)));
    const service = await startServiceProcess(folder, delivering(...servers));
    onTestFinished(async () => {
      await service.stop('SIGTERM');
      for (const server of servers) await server.remove();
    });
    await createZones(service);
    for (let index = 0; index < 100; index += 1) await createKey(service, `k${index}`);
    await untilLive(service, ...names);
    const commits = async () =>
      Number(
        /^tsigil_database_commit_duration_seconds_count (\d+)/m.exec(
          (await service.get('/metrics')).text,
        )?.[1],
      );
    let before = await commits();
    // The service seals the audit trail a while after the last change.
    const added = async () => -before + (before = await commits());
    await expect.poll(added, { interval: 2000, timeout: 60_000 }).toBe(0);
    const [seconds, began] = [processorSeconds(service.process.pid ?? 0), performance.now()];
    await pause(20_000);
    const used = processorSeconds(service.process.pid ?? 0) - seconds;
    const elapsed = (performance.now() - began) / 1000;
    const committed = (await commits()) - before;
    const percent = (used / elapsed) * 100;
    if (IS_TIMED) process.stderr.write(`idle: ${percent.toFixed(2)} % CPU, ${committed} commits\n`);
    // One commit every 10 s for the heartbeat, and one for the last use of the token.
    expect(committed).toBeLessThanOrEqual(elapsed / 10 + 2);
    if (IS_TIMED) expect(percent).toBeLessThan(0.5);
  },
  120_000,
);

describe.runIf(bind.isInstalled())('a pass for a BIND server with many keys', () => {
  test('takes less than 2 s for 10,000 keys, and blocks the event loop for less than 50 ms', async () => {
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
    const shown: string[] = [];
    const measure = async (name: string, expected: object) => {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      const began = performance.now();
      const result = await makePass(dependencies, server);
      const ms = performance.now() - began;
      delay.disable();
      const blocked = delay.max / 1e6;
      shown.push(`${name} ${Math.round(ms)} ms, blocked for ${Math.round(blocked)} ms`);
      expect(result).toMatchObject(expected);
      return { ms, blocked };
    };
    const check = () => dependencies.store.checkNow([server]);
    const passes = [await measure('all keys new:', { outcome: 'changed', keysLive: count })];
    for (let round = 0; round < 3; round += 1) {
      await opened.create('tsigkeys', opened.key(`more-${round}`));
      passes.push(await measure('one change:', { added: [`more-${round}`] }));
    }
    await check();
    passes.push(await measure('no change:', { outcome: 'unchanged' }));
    dependencies = restarted();
    await check();
    passes.push(await measure('after a restart:', { outcome: 'unchanged' }));
    await bind.edit(named, 'k1', 'k2');
    await check();
    passes.push(await measure('edited file:', { outcome: 'changed', foundDrift: true }));
    if (!IS_TIMED) return;
    process.stderr.write(`${count} keys: ${shown.join('; ')}\n`);
    for (const { ms, blocked } of passes) {
      expect(ms, shown.join('; ')).toBeLessThan(LIMITS.passMs);
      expect(blocked, shown.join('; ')).toBeLessThan(LIMITS.blockedMs);
    }
  }, 300_000);
});

test('the PowerDNS driver compares the keys of a zone in time proportional to their number', async () => {
  const make = (count: number): Plan => {
    const named = Array.from({ length: count }, (_, index) => `k${index}`);
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
    return {
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
  };
  await expectLinear('comparison', make, 4000, differencesOf);
});
