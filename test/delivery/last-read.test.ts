import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makePass, type PassDependencies } from '../../src/delivery/reconciler/pass.ts';
import { timestampOf } from '../../src/core/text/timestamps.ts';
import { insertDataKey } from '../../src/sql/data-keys.ts';
import { openFolderDelivery, passDependencies } from './set-up.ts';

/** Long after the creation of the name server. */
const LATER = '2999-01-02T03:04:05.000006';

/** Opens a database with one key, and returns functions that make passes of two processes. */
async function open(clock: PassDependencies['clock'] = () => LATER) {
  const delivery = await openFolderDelivery();
  onTestFinished(() => delivery.close());
  const { opened, server } = delivery;
  const processOf = (holder: string) => {
    const { store, ...others } = passDependencies(delivery, { holder, clock });
    const read = { count: 0, deliveries: 0 };
    const desired: typeof store.desired = (given) => {
      read.count += 1;
      return store.desired(given);
    };
    const deliveries: typeof store.deliveries = (id) => {
      read.deliveries += 1;
      return store.deliveries(id);
    };
    const dependencies = { ...others, store: { ...store, desired, deliveries } };
    return {
      read,
      async pass() {
        await store.checkNow([server]);
        return makePass(dependencies, server);
      },
    };
  };
  const [one, other] = [processOf('one'), processOf('other')];
  const key = await opened.create('tsigkeys', opened.key('k'));
  await one.pass();
  return { ...delivery, key, one, other };
}

test('a pass without changes uses the desired state of the last one, and still repairs a drift', async () => {
  const { one, folder } = await open();
  expect(await one.pass()).toMatchObject({ outcome: 'unchanged', keysLive: 1 });
  writeFileSync(join(folder.folder, 'k.key'), 'changed by another program');
  expect(await one.pass()).toMatchObject({ outcome: 'changed', foundDrift: true });
  expect(folder.keys()).toEqual({ k: 1 });
  expect(one.read.count).toBe(1);
});

test('a change by any process is read', async () => {
  const { one, folder, opened, key } = await open();
  await opened.create('tsigkeys', opened.key('more'));
  expect(await one.pass()).toMatchObject({ addedKeys: ['more'] });
  await opened.update('tsigkeys', key, { algorithm: 'hmac-sha512' });
  await one.pass();
  expect(folder.keys()).toEqual({ k: 2, more: 1 });
  await opened.remove('tsigkeys', key);
  await one.pass();
  expect(folder.keys()).toEqual({ more: 1 });
  expect(one.read.count).toBe(4);
});

test('a change that another process delivered is read', async () => {
  const { one, other, folder, opened, key } = await open();
  await one.pass();
  await opened.remove('tsigkeys', key);
  await opened.create('tsigkeys', opened.key('more'));
  expect(await other.pass()).toMatchObject({ addedKeys: ['more'], removedKeys: ['k'] });
  expect(await one.pass()).toMatchObject({ outcome: 'unchanged' });
  expect(folder.keys()).toEqual({ more: 1 });
  expect(one.read.count).toBe(2);
});

test('a change that a failed pass read, but did not deliver, is read again', async () => {
  const { one, folder, opened } = await open();
  await opened.create('tsigkeys', opened.key('more'));
  folder.onApply(() => Promise.reject(new Error('fails once')));
  expect(await one.pass()).toMatchObject({ outcome: 'failed' });
  folder.onApply(() => Promise.resolve());
  expect(await one.pass()).toMatchObject({ addedKeys: ['more'] });
  expect(one.read.count).toBe(3);
});

test('a pass without changes uses the deliveries of the last one, and verifies each key in turn', async () => {
  let now = Date.parse('2999-01-02T03:04:05Z');
  const { one, opened } = await open(() => timestampOf((now += 1000)));
  for (const name of ['k1', 'k2', 'k3']) await opened.create('tsigkeys', opened.key(name));
  expect(await one.pass()).toMatchObject({ outcome: 'changed' });
  expect(await one.pass()).toMatchObject({ outcome: 'unchanged' });
  const [before, since] = [one.read.deliveries, timestampOf(now)];
  for (let count = 1; count <= 3; count += 1) {
    await opened.database.write(async (sql) => {
      await sql.run('UPDATE nameservers SET probe_at = 1', []);
    });
    expect(await one.pass()).toMatchObject({ outcome: 'unchanged', keysLive: 4 });
    const verified = 'SELECT key_id FROM deliveries WHERE verified_at > ?';
    expect(await opened.database.reads.all(verified, [since])).toHaveLength(count);
  }
  expect(one.read.deliveries).toBe(before);
});

test('each pass reads a secret that cannot be decrypted, until it can', async () => {
  const { one, opened, key } = await open();
  const setKey = (number: number | null) =>
    opened.database.write(async (sql) => {
      await sql.run('UPDATE tsigkeys SET secret_key = ?', [number]);
    });
  await opened.database.write((sql) =>
    insertDataKey(sql, {
      number: 9,
      purpose: 'secrets',
      wrapped: 'x',
      wrappedBy: 'x',
      createdAt: '2026-01-02T03:04:05.000006',
    }),
  );
  await opened.update('tsigkeys', key, { algorithm: 'hmac-sha512' });
  await setKey(9);
  expect(await one.pass()).toMatchObject({ keysLive: 0 });
  expect(await one.pass()).toMatchObject({ keysLive: 0 });
  await setKey(null);
  expect(await one.pass()).toMatchObject({ keysLive: 1 });
  expect(one.read.count).toBe(4);
});
