import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { IS_LONG, sizeOf } from '../harness/sizes.ts';
import { openFolderDelivery, startFolderReconciler } from './set-up.ts';

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
  if (IS_LONG)
    expect(others.filter((text) => text.includes('SET holder = ?')).length).toBeLessThan(4);
  else expect(others).toEqual([]);
}, 90_000);
