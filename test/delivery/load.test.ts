import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DRIVERS } from '../../src/nameservers/drivers.ts';
import { makePass } from '../../src/nameservers/reconciler/pass.ts';
import type { Verify } from '../../src/nameservers/reconciler/verification.ts';
import { bind } from '../harness/brands/bind.ts';
import { startDrivenServer } from '../harness/driven-server.ts';
import { IS_TIMED, sizeOf } from '../harness/sizes.ts';
import { openFolderDelivery, passDependencies, startFolderReconciler } from './set-up.ts';

/** The limits of a pass with 10,000 keys. Short runs share the processor. */
const LIMITS = IS_TIMED ? { passMs: 2000, blockedMs: 150 } : { passMs: 10_000, blockedMs: 1000 };

const AT = '2026-01-02T03:04:05.000006';

async function openWithKeys(count: number) {
  const delivery = await openFolderDelivery();
  onTestFinished(() => delivery.close());
  const { opened } = delivery;
  const keys = Array.from({ length: count }, (_, index) => ({
    ...opened.key(`k${index}`),
    ...{ id: randomUUID(), created_at: AT, updated_at: null },
  }));
  for (let start = 0; start < count; start += 1000)
    await opened.import('tsigkeys', keys.slice(start, start + 1000));
  return delivery;
}

test('an idle reconciler writes nothing but heartbeats', async () => {
  const delivery = await openWithKeys(100);
  startFolderReconciler(delivery);
  const { opened, folder } = delivery;
  await expect
    .poll(() => Object.keys(folder.keys()).length, { timeout: 10_000, interval: 50 })
    .toBe(100);
  await pause(200);
  const before = opened.statements().length;
  await pause(sizeOf('idleSeconds') * 1000);
  const written = opened.statements().slice(before);
  const others = written.filter((text) => !text.includes('SET seen_at'));
  // In 60 s, the regular check claims the name server and records its result.
  if (IS_TIMED)
    expect(others.filter((text) => text.includes('SET holder = ?')).length).toBeLessThan(4);
  else expect(others).toEqual([]);
}, 90_000);

describe.runIf(bind.installed)('a pass for a BIND server with many keys', () => {
  test('takes less than 2 s for one change, and blocks the event loop for a short time only', async () => {
    const count = sizeOf('manyKeys');
    const delivery = await openWithKeys(count);
    const { opened, server } = delivery;
    const named = await startDrivenServer(bind);
    onTestFinished(() => named.remove());
    const driver = DRIVERS.bind?.create(bind.options(named), server);
    const verify: Verify = () => Promise.resolve({ failures: new Map(), open: undefined });
    const dependencies = passDependencies(delivery, { ...(driver && { driver }), verify });
    await makePass(dependencies, server);
    const times: number[] = [];
    const blocked: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await opened.create('tsigkeys', opened.key(`more-${round}`));
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      const began = performance.now();
      expect(await makePass(dependencies, server)).toMatchObject({ added: [`more-${round}`] });
      times.push(performance.now() - began);
      delay.disable();
      blocked.push(delay.max / 1e6);
    }
    const shown = (values: readonly number[]) => values.map((each) => Math.round(each)).join(', ');
    if (IS_TIMED)
      process.stderr.write(
        `${count} keys: passes of ${shown(times)} ms, event loop blocked for ${shown(blocked)} ms\n`,
      );
    expect(Math.min(...times)).toBeLessThan(LIMITS.passMs);
    expect(Math.min(...blocked)).toBeLessThan(LIMITS.blockedMs);
  }, 120_000);
});
