import { afterEach, beforeEach, expect, test } from 'vitest';
import { LeaseLostError } from '../../src/delivery/delivery-ports.ts';
import type { Store } from '../../src/core/ports.ts';
import { newSlicer } from '../../src/net/slices.ts';
import { candidatesOf } from '../../src/delivery/store/candidates.ts';
import { reduceOutboxes } from '../../src/delivery/store/claims.ts';
import { createDeliveryStore } from '../../src/delivery/store/delivery-store.ts';
import { openDeliveryDatabase, type DeliveryDatabase } from './database.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const SERVER = { name: 'ns1', pool_id: POOL, driver: 'bind', address: '192.0.2.53' };

let opened: DeliveryDatabase;
beforeEach(async () => {
  opened = await openDeliveryDatabase();
});
afterEach(() => opened.close());

/** Returns the number of outbox rows of a name server. */
async function rows(id: string): Promise<number> {
  const { database, store, clock } = opened;
  return (await createDeliveryStore(database, store, clock).outbox(id)).length;
}

test('each creation, change and deletion of a key adds one row for each name server of the pool', async () => {
  const [one, two] = [
    await opened.create('nameservers', SERVER),
    await opened.create('nameservers', { ...SERVER, name: 'ns2' }),
  ];
  const other = await opened.create('pools', { name: 'other' });
  const apart = await opened.create('nameservers', { ...SERVER, name: 'ns3', pool_id: other });
  const before = await Promise.all([one, two, apart].map(rows));
  const key = await opened.create('tsigkeys', opened.key('k'));
  await opened.update('tsigkeys', key, { algorithm: 'hmac-sha512' });
  await opened.remove('tsigkeys', key);
  const after = await Promise.all([one, two, apart].map(rows));
  expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([3, 3, 0]);
});

test('a key that moves to another pool adds one row for the name servers of both pools', async () => {
  const other = await opened.create('pools', { name: 'other' });
  const one = await opened.create('nameservers', SERVER);
  const apart = await opened.create('nameservers', { ...SERVER, name: 'ns3', pool_id: other });
  const key = await opened.create('tsigkeys', opened.key('k'));
  const before = await Promise.all([one, apart].map(rows));
  await opened.update('tsigkeys', key, { resource_id: other });
  expect(await Promise.all([one, apart].map(rows))).toEqual(before.map((count) => count + 1));
});

test('changes of a zone and of its keys add rows for the name servers of the pool', async () => {
  const one = await opened.create('nameservers', SERVER);
  const before = await rows(one);
  const zone = await opened.create('zones', { name: 'example.org.', email: 'a@example.org' });
  await opened.create('tsigkeys', { ...opened.key('k'), scope: 'ZONE', resource_id: zone });
  await opened.update('zones', zone, { ttl: 60 }); // delivery does not depend on the TTL
  await opened.remove('zones', zone);
  expect(await rows(one)).toBe(before + 3);
});

test('a key that moves while its pool is read is read with its new zone', async () => {
  const [one, two] = await Promise.all(
    ['a.test.', 'b.test.'].map((name) => opened.create('zones', { name, email: 'a@a.test' })),
  );
  const key = await opened.create('tsigkeys', {
    ...opened.key('k'),
    scope: 'ZONE',
    resource_id: one,
  });
  const moving: Pick<Store, 'find'> = {
    async find(type, field, values) {
      if ((await opened.version(key)) === 1)
        await opened.update('tsigkeys', key, { resource_id: two });
      return opened.store.find(type, field, values);
    },
  };
  const candidates = await candidatesOf(opened.database, moving, POOL, newSlicer());
  expect(candidates).toMatchObject([{ key: { version: 2 }, zones: ['b.test.'] }]);
});

test('a change that is rolled back adds no row', async () => {
  const one = await opened.create('nameservers', SERVER);
  await opened.create('tsigkeys', opened.key('k'));
  const before = await rows(one);
  await expect(opened.create('tsigkeys', opened.key('K'))).rejects.toThrow();
  expect(await rows(one)).toBe(before);
});

test('many keys in one transaction add one row for each name server', async () => {
  const one = await opened.create('nameservers', SERVER);
  const before = await rows(one);
  await opened.createAll(
    'tsigkeys',
    Array.from({ length: 30 }, (_, index) => opened.key(`k${index}`)),
  );
  expect(await rows(one)).toBe(before + 1);
});

test('without name servers, a change runs no statement for the outbox', async () => {
  await opened.create('tsigkeys', opened.key('k1'));
  const before = opened.statements();
  await opened.create('tsigkeys', opened.key('k2'));
  expect(
    opened
      .statements()
      .slice(before.length)
      .filter((text) => /outbox|nameservers/.test(text)),
  ).toEqual([]);
  const one = await opened.create('nameservers', SERVER);
  const empty = await rows(one);
  await opened.create('tsigkeys', opened.key('k3'));
  expect(await rows(one)).toBe(empty + 1);
});

test('the version of a key increases only if the name, the algorithm or the secret changes', async () => {
  const key = await opened.create('tsigkeys', opened.key('k'));
  const versions = [await opened.version(key)];
  for (const change of [
    { algorithm: 'hmac-sha512' },
    { algorithm: 'hmac-sha512' },
    { secret: 'b3RoZXI=' },
    { name: 'l' },
  ]) {
    await opened.update('tsigkeys', key, change);
    versions.push(await opened.version(key));
  }
  expect(versions).toEqual([1, 2, 2, 3, 4]);
});

test('the deletion of a name server removes its outbox rows', async () => {
  const one = await opened.create('nameservers', SERVER);
  await opened.create('tsigkeys', opened.key('k'));
  await opened.remove('nameservers', one);
  expect(await rows(one)).toBe(0);
});

/** Adds `count` changes of the last minutes for a name server, and returns the oldest. */
async function missChanges(id: string, count: number, name = 'missed'): Promise<string> {
  await opened.database.write(async (sql) => {
    await sql.run(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
        INSERT INTO outbox (nameserver_id, id, at)
          SELECT ?, '${name}-' || n, ${Date.now() - 1_000_000} + n FROM numbers`,
      [id],
    );
  });
  return `${name}-1`;
}

test('a claim keeps the oldest and the newest 100 changes of its name server; changes that a pass has not seen stay', async () => {
  const id = await opened.create('nameservers', SERVER);
  const oldest = await missChanges(id, 5000);
  await opened.create('tsigkeys', opened.key('newest'));
  const deliveries = createDeliveryStore(opened.database, opened.store, opened.clock);
  const first = await deliveries.claim(id, 'one', 5000);
  const kept = await deliveries.outbox(id);
  expect(kept).toHaveLength(101);
  expect(kept).toContain(oldest);
  // Another process deletes no change while a pass may have read only some of them.
  await missChanges(id, 300, 'later');
  await reduceOutboxes(opened.database);
  expect(await rows(id)).toBe(401);
  const retryMs = () => 100_000;
  const error = { code: 'unreachable', message: 'it is down' };
  const failure = { state: 'failed' as const, error, retryMs };
  await deliveries.fail(id, 'one', first?.fence ?? 0, failure);
  await reduceOutboxes(opened.database);
  expect(await rows(id)).toBe(101);
});

test('the outbox of a name server that no process serves is reduced, and keeps its oldest and newest changes', async () => {
  const id = await opened.create('nameservers', { ...SERVER, delivery: 'agent' });
  await missChanges(id, 5000);
  await reduceOutboxes(opened.database);
  expect(await rows(id)).toBe(101);
});

test('a process that claims a name server again does nothing more with its former claim', async () => {
  const { database, store, clock } = opened;
  const deliveries = createDeliveryStore(database, store, clock);
  const id = await opened.create('nameservers', SERVER);
  const former = await deliveries.claim(id, 'holder', 60_000);
  await deliveries.releaseAll('holder');
  const claim = await deliveries.claim(id, 'holder', 60_000);
  if (former === undefined || claim === undefined) throw new Error('Nothing was due');
  expect(await deliveries.renew(id, 'holder', former.fence, 60_000)).toBe(false);
  await expect(deliveries.begin(id, 'holder', former.fence, [], [])).rejects.toThrow(
    LeaseLostError,
  );
  expect(await deliveries.renew(id, 'holder', claim.fence, 60_000)).toBe(true);
  await deliveries.begin(id, 'holder', claim.fence, [], []);
});
