import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../harness/service.ts';
import { folderServer } from './folder-driver.ts';
import { openFolderDelivery, SERVER, startFolderReconciler } from './set-up.ts';

test('continuous changes of one name server do not delay another name server', async () => {
  const delivery = await openFolderDelivery();
  onTestFinished(() => delivery.close());
  const { opened, folder, server } = delivery;
  const other = folderServer(temporaryFolder());
  onTestFinished(() => rmSync(other.folder, { recursive: true, force: true }));
  const pool = await opened.create('pools', { name: 'other' });
  const second = await opened.create('nameservers', { ...SERVER, name: 'ns2', pool_id: pool });
  startFolderReconciler(delivery, {
    servers: [
      { id: server, driver: folder.driver, minimumIntervalMs: 0 },
      { id: second, driver: other.driver, minimumIntervalMs: 0 },
    ],
    concurrency: 1,
  });
  const over = new AbortController();
  const changing = (async () => {
    for (let index = 0; !over.signal.aborted; index += 1) {
      await opened.create('tsigkeys', opened.key(`busy-${index}`));
      await pause(1);
    }
  })();
  await expect.poll(() => folder.applies(), { interval: 5 }).toBeGreaterThan(0);
  await opened.create('tsigkeys', { ...opened.key('other'), resource_id: pool });
  await expect.poll(() => other.keys(), { interval: 10 }).toEqual({ other: 1 });
  over.abort();
  await changing;
});
