import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nameServer } from '../../src/resources/name-server.ts';
import { makePass } from '../../src/delivery/reconciler/pass.ts';
import { createDeliveryStore } from '../../src/delivery/store/delivery-store.ts';
import { randomCases } from '../harness/sizes.ts';
import type { DeliveryDatabase } from './database.ts';
import type { FolderServer } from './folder-driver.ts';
import {
  openFolderDelivery,
  passDependencies,
  startFolderReconciler,
  type FolderDelivery,
} from './set-up.ts';

let delivery: FolderDelivery;
let opened: DeliveryDatabase;
let folder: FolderServer;
let server: string;

beforeEach(async () => {
  delivery = await openFolderDelivery();
  ({ opened, folder, server } = delivery);
});
afterEach(() => delivery.close());

/** Returns the versions of the keys in the database, by the name of the key. */
async function wanted(): Promise<Record<string, number>> {
  const rows = await opened.database.reads.all('SELECT name_key, version FROM tsigkeys', []);
  return Object.fromEntries(rows.map((row) => [String(row.name_key), Number(row.version)]));
}

/** Returns `parts` whose calls fail after `counter.left` calls, as if the process had ended. */
function endingAfter<T extends object>(parts: T, counter: { left: number }): T {
  return new Proxy(parts, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]): unknown => {
        if (counter.left <= 0) return Promise.reject(new Error('The process has ended'));
        counter.left -= 1;
        return Reflect.apply(member, target, values);
      };
    },
  });
}

test('after a process ends between any two steps of a pass, the next pass completes the work', async () => {
  const store = createDeliveryStore(opened.database, opened.store, opened.clock);
  let hasEnded = true;
  for (let calls = 0; hasEnded; calls += 1) {
    expect(calls).toBeLessThan(50);
    await opened.create('tsigkeys', opened.key(`k${calls}`));
    const counter = { left: calls };
    const dying = passDependencies(delivery, {
      holder: 'dying',
      store: endingAfter(store, counter),
      driver: endingAfter(folder.driver, counter),
    });
    await makePass(dying, server).catch(() => undefined);
    hasEnded = counter.left === 0; // calls are left only after a complete pass
    await opened.database.write(async (sql) => {
      await sql.run('UPDATE nameservers SET lease_until = 0', []); // expires the lease
    });
    await makePass(passDependencies(delivery, { holder: 'next' }), server);
    expect([calls, folder.keys()]).toEqual([calls, await wanted()]);
    expect([calls, await store.outbox(server)]).toEqual([calls, []]);
    const rows = await store.deliveries(server);
    expect([calls, rows.filter(({ state }) => state !== 'delivered')]).toEqual([calls, []]);
  }
});

test('three reconcilers never change a name server at the same time, and lose no change', async () => {
  let concurrent = 0;
  let most = 0;
  const fences: number[] = [];
  folder.onApply(async () => {
    concurrent += 1;
    most = Math.max(most, concurrent);
    const row = await opened.database.reads.one('SELECT fence FROM nameservers', []);
    fences.push(Number(row?.fence));
    await pause(randomInt(15));
    concurrent -= 1;
  });
  const reconcilers = ['one', 'two', 'three'].map((holder) =>
    startFolderReconciler(delivery, { holder }),
  );
  const isEqual = async () =>
    JSON.stringify(Object.entries(folder.keys()).sort()) ===
    JSON.stringify(Object.entries(await wanted()).sort());
  const untilEqual = () => expect.poll(isEqual).toBe(true);
  const ids: string[] = [];
  for (let step = 0; step < randomCases(150); step += 1) {
    // A pass that removed more than ten keys would wait for a confirmation.
    if (step % 30 === 0) await untilEqual();
    const index = randomInt(ids.length + 1);
    const id = ids[index];
    if (id === undefined || step % 3 === 0)
      ids.push(await opened.create('tsigkeys', opened.key(`k${step}`)));
    else if (step % 3 === 1)
      await opened.update('tsigkeys', id, {
        secret: Buffer.from(`secret ${step}`).toString('base64'),
      });
    else {
      await opened.remove('tsigkeys', id);
      ids.splice(index, 1);
    }
    if (step % 5 === 0) await pause(randomInt(10));
  }
  await untilEqual();
  for (const reconciler of reconcilers) await reconciler.close(AbortSignal.timeout(2000));
  expect(most).toBe(1);
  expect(fences).toEqual([...fences].sort((first, second) => first - second));
  expect((await opened.store.get(nameServer, server))?.error_code).toBeNull();
});
