import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DesiredKey } from '../../src/brands/desired-state.ts';
import { deliveriesOf } from '../../src/delivery/shown-deliveries.ts';
import { withStatus } from '../../src/resources/operations/live-status.ts';
import { nameServer } from '../../src/resources/name-server.ts';
import { tsigkey } from '../../src/resources/tsigkey.ts';
import { DriverError } from '../../src/brands/driver.ts';
import { makePass, type PassDependencies } from '../../src/delivery/reconciler/pass.ts';
import { insertDataKey } from '../../src/sql/data-keys.ts';
import type { Verify } from '../../src/delivery/reconciler/verification.ts';
import { createDeliveryStatus } from '../../src/delivery/store/delivery-status.ts';
import type { DeliveryDatabase } from './database.ts';
import { type FolderServer } from './folder-driver.ts';
import {
  openFolderDelivery,
  passDependencies,
  requestPassOf,
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

const dependencies = (changes?: Partial<PassDependencies>) => passDependencies(delivery, changes);
const pass = (changes: Partial<PassDependencies> = {}) => makePass(dependencies(changes), server);

/** Returns the delivery state of a key, as the API shows the state. */
async function stateOf(id: string): Promise<string> {
  const key = await opened.store.get(tsigkey, id);
  if (key === undefined) return 'deleted';
  const status = createDeliveryStatus(opened.database, opened.store);
  const [places = []] = await status.ofKeys([key]);
  return deliveriesOf(key, places).state;
}

/** Returns the name server with its state, as the API shows both. */
async function shownServer() {
  const status = createDeliveryStatus(opened.database, opened.store);
  const found = await opened.store.get(nameServer, server);
  if (found === undefined) throw new Error('The name server does not exist');
  return withStatus(found, (await status.statuses([server])).get(server));
}

describe('a pass', () => {
  test('delivers, verifies and records new, changed and deleted keys', async () => {
    await dependencies().store.seen([server]);
    const key = await opened.create('tsigkeys', opened.key('k'));
    expect(await stateOf(key)).toBe('pending');
    expect(await pass()).toMatchObject({ outcome: 'changed', addedKeys: ['k'], keysLive: 1 });
    expect([folder.keys(), await stateOf(key)]).toEqual([{ k: 1 }, 'delivered']);
    expect(await shownServer()).toMatchObject({
      state: 'live',
      keys_wanted: 1,
      keys_live: 1,
      pending_since: null,
    });
    await opened.update('tsigkeys', key, { algorithm: 'hmac-sha512' });
    expect([await stateOf(key), (await shownServer()).state]).toEqual(['pending', 'pending']);
    await pass();
    expect([folder.keys(), await stateOf(key)]).toEqual([{ k: 2 }, 'delivered']);
    await opened.remove('tsigkeys', key);
    expect(await pass()).toMatchObject({ outcome: 'changed', removedKeys: ['k'] });
    expect(folder.keys()).toEqual({});
    expect(await dependencies().store.deliveries(server)).toEqual([]);
  });

  test('claims and writes nothing without work', async () => {
    await pass();
    const before = opened.statements().length;
    expect(await dependencies().store.due([server])).toEqual([]);
    expect(opened.statements().length).toBe(before);
    expect(await pass()).toBeUndefined();
  });

  test('removes no outbox row of a change that is committed during the pass', async () => {
    await opened.create('tsigkeys', opened.key('first'));
    folder.onApply(async () => {
      folder.onApply(() => Promise.resolve());
      await opened.create('tsigkeys', opened.key('second'));
    });
    await pass();
    expect(folder.keys()).toEqual({ first: 1 });
    expect(await dependencies().store.outbox(server)).toHaveLength(1);
    await pass();
    expect(folder.keys()).toEqual({ first: 1, second: 1 });
    expect(await dependencies().store.outbox(server)).toEqual([]);
  });

  test('delivers the keys of zones of the pool, but no keys of other pools', async () => {
    const other = await opened.create('pools', { name: 'other' });
    const zone = await opened.create('zones', { name: 'example.org.', email: 'a@example.org' });
    await opened.create('tsigkeys', { ...opened.key('zonal'), scope: 'ZONE', resource_id: zone });
    await opened.create('tsigkeys', { ...opened.key('foreign'), resource_id: other });
    await pass();
    expect(folder.keys()).toEqual({ zonal: 1 });
    await opened.remove('zones', zone);
    await pass();
    expect(folder.keys()).toEqual({});
  });

  test('delivers all keys apart from a key that no name server can use', async () => {
    const bad = await opened.create('tsigkeys', { ...opened.key('bad'), secret: 'no base64!' });
    const good = await opened.create('tsigkeys', opened.key('good'));
    await dependencies().store.seen([server]);
    await pass();
    expect([folder.keys(), await stateOf(bad), await stateOf(good)]).toEqual([
      { good: 1 },
      'undeliverable',
      'delivered',
    ]);
    expect(await shownServer()).toMatchObject({
      state: 'live',
      error_code: null,
      keys_wanted: 2,
      keys_live: 1,
      attempts: 0,
      verified_at: null,
    });
    await opened.update('tsigkeys', bad, { secret: 'c2VjcmV0' });
    expect(await stateOf(bad)).toBe('pending');
    await pass();
    expect(await stateOf(bad)).toBe('delivered');
    expect(await shownServer()).toMatchObject({ state: 'live', keys_wanted: 2, keys_live: 2 });
  });

  test('does not remove a key whose secret cannot be decrypted, and delivers the other keys', async () => {
    const [kept, unknown] = [
      await opened.create('tsigkeys', opened.key('kept')),
      await opened.create('tsigkeys', opened.key('unknown')),
    ];
    await dependencies().store.seen([server]);
    await opened.database.write(async (sql) => {
      await insertDataKey(sql, {
        number: 9,
        purpose: 'secrets',
        wrapped: 'x',
        wrappedBy: 'x',
        createdAt: '2026-01-02T03:04:05.000006',
      });
      await sql.run('UPDATE tsigkeys SET secret_key = 9 WHERE id = ?', [unknown]);
    });
    await pass();
    const before = readFileSync(join(folder.folder, 'kept.key'), 'utf8');
    await opened.database.write(async (sql) => {
      await sql.run('UPDATE tsigkeys SET secret_key = 9', []);
    });
    const good = await opened.create('tsigkeys', opened.key('good'));
    await pass();
    expect(Object.keys(folder.keys()).sort()).toEqual(['good', 'kept']);
    expect(readFileSync(join(folder.folder, 'kept.key'), 'utf8')).toBe(before);
    expect([await stateOf(kept), await stateOf(unknown), await stateOf(good)]).toEqual([
      'undeliverable',
      'undeliverable',
      'delivered',
    ]);
    expect((await dependencies().store.deliveries(server)).map(({ error }) => error?.code)).toEqual(
      expect.arrayContaining(['unreadable_secret']),
    );
    // The server has its copy of one key, and lacks the other one.
    expect(await shownServer()).toMatchObject({
      state: 'live',
      error_code: null,
      keys_wanted: 2,
      keys_live: 1,
    });
    // From here on, the secret is readable.
    await opened.database.write(async (sql) => {
      await sql.run('UPDATE tsigkeys SET secret_key = NULL WHERE id = ?', [unknown]);
    });
    await dependencies().store.checkNow([server]);
    await pass();
    expect([await stateOf(kept), await stateOf(unknown)]).toEqual(['undeliverable', 'delivered']);
    expect(await shownServer()).toMatchObject({ state: 'live', keys_wanted: 2, keys_live: 2 });
    await opened.remove('tsigkeys', kept);
    expect(await pass()).toMatchObject({ removedKeys: ['kept'] });
    expect(Object.keys(folder.keys()).sort()).toEqual(['good', 'unknown']);
  });

  test('leaves a key on the server if its secret was lost with the master key', async () => {
    const key = await opened.create('tsigkeys', opened.key('lost'));
    await dependencies().store.seen([server]);
    await pass();
    const before = readFileSync(join(folder.folder, 'lost.key'), 'utf8');
    await opened.database.write(async (sql) => {
      await sql.run("UPDATE tsigkeys SET secret = '', secret_key = NULL WHERE id = ?", [key]);
    });
    await dependencies().store.checkNow([server]);
    await pass();
    expect([readFileSync(join(folder.folder, 'lost.key'), 'utf8'), await stateOf(key)]).toEqual([
      before,
      'undeliverable',
    ]);
    await opened.update('tsigkeys', key, { secret: 'bmV3IHNlY3JldA==' });
    await pass();
    expect([folder.keys(), await stateOf(key)]).toEqual([{ lost: 2 }, 'delivered']);
  });

  test('verifies a fifteenth of all keys per minute, at most 20 per second, the least recently verified first', async () => {
    for (let index = 0; index < 150; index += 1)
      await opened.create('tsigkeys', opened.key(`k${index}`));
    await pass();
    const verified: string[] = [];
    let events: string[] = [];
    const verify: Verify = (_server, _zones, { acceptedKeys }) => {
      for (const { name } of acceptedKeys) verified.push(name);
      events.push(`${acceptedKeys.length} keys`);
      const ofRound = events;
      setTimeout(() => ofRound.push('100 ms'), 100);
      return Promise.resolve({ failures: new Map(), open: undefined });
    };
    for (let round = 1; round <= 2; round += 1) {
      await opened.database.write(async (sql) => {
        await sql.run('UPDATE nameservers SET probe_at = 1', []);
      });
      expect(await dependencies().store.due([server])).toEqual([server]);
      events = [];
      expect(await pass({ verify })).toMatchObject({ outcome: 'unchanged' });
      const [four, time] = ['4 keys', '100 ms']; // four keys every 200 ms
      expect(events.slice(0, 5)).toEqual([four, time, four, time, '2 keys']);
      expect(new Set(verified).size).toBe(round * 10);
      expect(await dependencies().store.due([server])).toEqual([]);
    }
  });

  test('ends a scheduled verification early if a change is pending', async () => {
    for (let index = 0; index < 150; index += 1)
      await opened.create('tsigkeys', opened.key(`k${index}`));
    await pass();
    await opened.database.write(async (sql) => {
      await sql.run('UPDATE nameservers SET probe_at = 1', []);
    });
    let verified = 0;
    const verify: Verify = async (_server, _zones, { acceptedKeys }) => {
      verified += acceptedKeys.length;
      if (verified === 4) await opened.create('tsigkeys', opened.key('waits'));
      return { failures: new Map(), open: undefined };
    };
    await pass({ verify });
    expect([verified, await dependencies().store.outbox(server)]).toEqual([
      4,
      [expect.any(String)],
    ]);
    expect(await pass()).toMatchObject({ addedKeys: ['waits'] });
  });

  test('is live with a key that its zone does not admit, until the zone admits it', async () => {
    await dependencies().store.seen([server]);
    const refused = await opened.create('tsigkeys', opened.key('refused'));
    const fault = { code: 'not_admitted', message: "Write the list 'tsigil-update'" };
    let failures = new Map([[refused, fault]]);
    const verify: Verify = () => Promise.resolve({ failures, open: undefined });
    expect(await pass({ verify })).toMatchObject({ outcome: 'changed', events: [] });
    const good = await opened.create('tsigkeys', opened.key('good'));
    for (let count = 0; count < 3; count += 1) {
      await dependencies().store.checkNow([server]);
      await pass({ verify });
      expect([await stateOf(refused), await stateOf(good)]).toEqual(['failed', 'delivered']);
      expect(await shownServer()).toMatchObject({
        state: 'live',
        error_code: null,
        keys_wanted: 2,
        keys_live: 1,
        attempts: 0,
        verified_at: null,
      });
    }
    // A slow verification would test only one right of the key.
    await opened.database.write((sql) => sql.run('UPDATE nameservers SET probe_at = 1', []));
    const slow: string[] = [];
    await pass({
      verify(_server, _zones, { acceptedKeys }) {
        slow.push(...acceptedKeys.map(({ name }) => name));
        return Promise.resolve({ failures: new Map(), open: undefined });
      },
    });
    expect(slow).toEqual(['good']);
    failures = new Map();
    await dependencies().store.checkNow([server]);
    expect((await pass({ verify }))?.events).toHaveLength(1);
    expect([await stateOf(refused), await shownServer()]).toMatchObject([
      'delivered',
      { state: 'live', keys_live: 2 },
    ]);
  });

  test('keeps a key too wide until the name server refuses each right that the key lacks', async () => {
    await opened.update('nameservers', server, { rights: ['transfer', 'update'] });
    const zoneOf = (name: string) => opened.create('zones', { name, email: 'hostmaster@a.test' });
    const [zone] = [await zoneOf('a.test.'), await zoneOf('b.test.')];
    const grants = [{ rights: ['transfer', 'update'], zones: [zone] }];
    await opened.create('tsigkeys', { ...opened.key('k'), grants });
    let wide: readonly string[] = ['transfer'];
    const verify: Verify = (_server, _zones, { restrictedKeys = [] }) => {
      const found = restrictedKeys.filter(({ right }) => wide.includes(right));
      const fault = { code: 'too_wide', message: 'opens b.test' };
      return Promise.resolve({
        failures: new Map(found.map(({ key: { id } }) => [id, fault])),
        open: undefined,
      });
    };
    const errorAfter = async (random: number) => {
      await dependencies().store.checkNow([server]);
      await pass({ verify, random: () => random });
      const [row] = await opened.database.reads.all('SELECT error_code FROM deliveries', []);
      return row?.error_code;
    };
    for (const random of [0.1, 0.1, 0.9]) expect(await errorAfter(random)).toBe('too_wide');
    wide = [];
    expect(await errorAfter(0.9)).toBeNull();
  });

  test('removes no outbox rows if it fails, shows the reason, and is repeated after a change', async () => {
    await dependencies().store.seen([server]);
    const key = await opened.create('tsigkeys', opened.key('k'));
    folder.fail(new DriverError('unreachable', 'Nothing listens.'));
    // Without a change, the next attempt is far off.
    expect(await pass({ random: () => 1000 })).toMatchObject({
      outcome: 'failed',
      error: { code: 'unreachable' },
    });
    expect([await stateOf(key), (await shownServer()).state]).toEqual(['failed', 'failed']);
    expect(await shownServer()).toMatchObject({ attempts: 1, error_code: 'unreachable' });
    expect(await dependencies().store.due([server])).toEqual([]);
    folder.fail(undefined);
    await opened.create('tsigkeys', opened.key('l'));
    await expect.poll(() => dependencies().store.due([server])).toEqual([server]);
    await pass();
    expect([folder.keys(), await stateOf(key), (await shownServer()).attempts]).toEqual([
      { k: 1, l: 1 },
      'delivered',
      0,
    ]);
  });

  test('does not mark a key as delivered if the verification fails', async () => {
    await dependencies().store.seen([server]);
    const key = await opened.create('tsigkeys', opened.key('k'));
    const failures = new Map([[key, { code: 'not_verified', message: 'refused' }]]);
    const verify = () => Promise.resolve({ failures, open: undefined });
    await pass({ verify });
    expect([await stateOf(key), (await shownServer()).state]).toEqual(['failed', 'failed']);
    const open = { code: 'open', message: 'unsigned' };
    await requestPassOf(delivery);
    await pass({ verify: () => Promise.resolve({ failures: new Map(), open }) });
    expect([await stateOf(key), (await shownServer()).state]).toEqual(['failed', 'open']);
  });

  test('applies and records nothing if the lease expired during a pause of the process', async () => {
    await opened.create('tsigkeys', opened.key('k'));
    const { store } = dependencies();
    const paused = dependencies({
      store: {
        ...store,
        async desired(of) {
          const found = await store.desired(of);
          await opened.database.write(async (sql) => {
            await sql.run('UPDATE nameservers SET lease_until = 0, check_at = 0', []);
          });
          await makePass(dependencies({ holder: 'two' }), server);
          return found;
        },
      },
    });
    expect(await makePass(paused, server)).toMatchObject({ outcome: 'lost' });
    expect(folder.applies()).toBe(1);
  });

  test('makes the next pass due at once if the process loses its lease during the apply', async () => {
    await opened.create('tsigkeys', opened.key('k'));
    folder.onApply(async () => {
      folder.onApply(() => Promise.resolve());
      // The process is suspended after it has checked its lease. Another process applies a later
      // state.
      await opened.create('tsigkeys', opened.key('later'));
      await opened.database.write(async (sql) => {
        await sql.run('UPDATE nameservers SET lease_until = 0, check_at = 0', []);
      });
      await pass({ holder: 'two' });
      expect(folder.keys()).toEqual({ k: 1, later: 1 });
    });
    expect(await pass()).toMatchObject({ outcome: 'lost' });
    expect(folder.keys()).toEqual({ k: 1 });
    expect(await dependencies().store.due([server])).toEqual([server]);
    await pass({ holder: 'two' });
    expect(folder.keys()).toEqual({ k: 1, later: 1 });
  });

  test('removes an added key again if the process loses its lease during the apply', async () => {
    const key = await opened.create('tsigkeys', opened.key('k'));
    folder.onApply(async () => {
      folder.onApply(() => Promise.resolve());
      await opened.remove('tsigkeys', key);
      await opened.database.write(async (sql) => {
        await sql.run('UPDATE nameservers SET lease_until = 0, check_at = 0', []);
      });
      await pass({ holder: 'two' });
    });
    expect(await pass()).toMatchObject({ outcome: 'lost' });
    expect(folder.keys()).toEqual({ k: 1 });
    const { store } = dependencies();
    const leftover = expect.objectContaining({ keyName: 'k', state: 'removing' }) as unknown;
    expect([await store.deliveries(server), await store.due([server])]).toEqual([
      [leftover],
      [server],
    ]);
    await pass({ holder: 'two' });
    expect([folder.keys(), await store.deliveries(server)]).toEqual([{}, []]);
  });

  test('replaces a deleted key with a new key of the same name, even if it never read the former secret', async () => {
    await dependencies().store.seen([server]);
    const old = await opened.create('tsigkeys', opened.key('k'));
    await pass();
    await opened.remove('tsigkeys', old);
    const key = await opened.create('tsigkeys', opened.key('k'));
    expect(await pass()).toMatchObject({ error: null });
    const rows = await dependencies().store.deliveries(server);
    expect(rows.map(({ keyId, state }) => [keyId, state])).toEqual([[key, 'delivered']]);
  });

  test.each(['deleted', 'moved to another pool', 'left without a zone'])(
    'removes any number of keys that were %s, without a confirmation',
    async (how) => {
      const zone = await opened.create('zones', { name: 'example.org.', email: 'a@example.org' });
      const other = await opened.create('pools', { name: 'other' });
      const scope =
        how === 'left without a zone' ? { scope: 'ZONE', resource_id: zone } : { scope: 'POOL' };
      const ids: string[] = [];
      for (let index = 0; index < 13; index += 1)
        ids.push(await opened.create('tsigkeys', { ...opened.key(`k${index}`), ...scope }));
      await pass();
      folder.onApply(async () => {
        folder.onApply(() => Promise.resolve());
        // The pass records keys as delivered that were removed meanwhile.
        if (how === 'deleted') for (const id of ids) await opened.remove('tsigkeys', id);
        else if (how === 'left without a zone') await opened.remove('zones', zone);
        else for (const id of ids) await opened.update('tsigkeys', id, { resource_id: other });
      });
      for (const id of ids) await opened.update('tsigkeys', id, { secret: 'bmV3IHNlY3JldA==' });
      await pass();
      expect(Object.keys(folder.keys())).toHaveLength(13);
      const rows = await dependencies().store.deliveries(server);
      expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['removing']));
      expect(await pass()).toMatchObject({ outcome: 'changed', error: null });
      expect([folder.keys(), await dependencies().store.deliveries(server)]).toEqual([{}, []]);
    },
  );

  test('removes more than ten keys and more than half of all keys after a change of the pool only once an operator confirms', async () => {
    await dependencies().store.seen([server]);
    const other = await opened.create('pools', { name: 'other' });
    for (let index = 0; index < 20; index += 1)
      await opened.create('tsigkeys', {
        ...opened.key(`k${index}`),
        ...(index < 9 ? { resource_id: other } : {}),
      });
    await pass();
    await opened.update('nameservers', server, { pool_id: other });
    expect(await pass()).toMatchObject({ outcome: 'failed', error: { code: 'blocked_removal' } });
    expect([Object.keys(folder.keys()).length, (await shownServer()).state]).toEqual([
      11,
      'blocked',
    ]);
    await requestPassOf(delivery, true);
    const { outcome, events = [] } = (await pass()) ?? {};
    const removed = events.filter(({ action }) => action === 'tsigkeys:remove');
    expect([outcome, removed.length]).toEqual(['changed', 11]);
    expect([Object.keys(folder.keys()).length, (await shownServer()).state]).toEqual([9, 'live']);
  });

  test('delivers deleted and changed keys while a change of the pool is blocked, and nothing else', async () => {
    await dependencies().store.seen([server]);
    const [other, ids] = [await opened.create('pools', { name: 'other' }), [] as string[]];
    for (let index = 0; index < 11; index += 1)
      ids.push(await opened.create('tsigkeys', opened.key(`k${index}`)));
    const memory = new Map();
    await pass({ memory });
    await opened.update('nameservers', server, { pool_id: other });
    await pass({ memory });
    const [deleted = '', changed = '', moved = ''] = ids;
    await opened.remove('tsigkeys', deleted);
    expect(await dependencies().store.due([server])).toEqual([server]);
    expect(await pass({ memory })).toMatchObject({ state: 'blocked', removedKeys: ['k0'] });
    await opened.update('tsigkeys', changed, {
      secret: 'bmV3IHNlY3JldG5ldyBzZWNyZXRuZXcgc2VjcmV0bmU=',
    });
    const zone = await opened.create('zones', { name: 'example.org.', email: 'a@example.org' });
    await opened.update('tsigkeys', moved, { scope: 'ZONE', resource_id: zone });
    await opened.create('tsigkeys', { ...opened.key('new'), resource_id: other });
    const { state, removedKeys } = (await pass({ memory })) ?? {};
    expect([state, removedKeys?.toSorted()]).toEqual(['blocked', ['k1', 'k2']]);
    expect(Object.keys(folder.keys()).toSorted()).toEqual([
      'k10',
      ...[3, 4, 5, 6, 7, 8, 9].map((index) => `k${index}`),
    ]);
    expect(await shownServer()).toMatchObject({ state: 'blocked', error_code: 'blocked_removal' });
    await requestPassOf(delivery, true);
    expect(await pass({ memory })).toMatchObject({ outcome: 'changed', error: null });
    expect([folder.keys(), (await shownServer()).state]).toEqual([{ new: 1 }, 'live']);
  });

  test('takes more than half of the rights of more than ten keys only once an operator confirms', async () => {
    await dependencies().store.seen([server]);
    const zone = await opened.create('zones', { name: 'example.org.', email: 'a@example.org' });
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1)
      ids.push(await opened.create('tsigkeys', opened.key(`k${index}`)));
    await pass();
    const accessOf = (name: string) => {
      const content = readFileSync(join(folder.folder, `${name}.key`), 'utf8');
      return (JSON.parse(content) as DesiredKey).access;
    };
    await opened.update('nameservers', server, { rights: ['transfer', 'update'] });
    expect(await pass()).toMatchObject({ outcome: 'changed', state: 'live' });
    await opened.update('nameservers', server, { rights: ['transfer'] });
    expect(await pass()).toMatchObject({ outcome: 'changed', state: 'live' });
    await opened.update('nameservers', server, { rights: ['update'] });
    expect(await pass()).toMatchObject({
      state: 'blocked',
      error: {
        message: expect.stringContaining("remove the right 'transfer' of 12 keys. To") as string,
      },
    });
    const [deleted = '', narrowed = ''] = ids;
    await opened.remove('tsigkeys', deleted);
    await opened.update('tsigkeys', narrowed, { scope: 'ZONE', resource_id: zone });
    expect(await pass()).toMatchObject({
      state: 'blocked',
      removedKeys: ['k0'],
      addedKeys: ['k1'],
    });
    expect(accessOf('k1')).toEqual({ update: ['example.org'] });
    expect(accessOf('k2')).toEqual({ transfer: 'all' });
    expect(Object.keys(folder.keys())).toHaveLength(11);
    await requestPassOf(delivery, true);
    expect(await pass()).toMatchObject({ outcome: 'changed', error: null });
    expect([accessOf('k2'), (await shownServer()).state]).toEqual([{ update: 'all' }, 'live']);
  });

  test('does nothing while the name server is paused', async () => {
    await opened.update('nameservers', server, { paused: true });
    await opened.create('tsigkeys', opened.key('k'));
    expect([await pass(), (await shownServer()).state]).toEqual([undefined, 'paused']);
  });
});

test('a name server is failed if no process delivers to it', async () => {
  const key = await opened.create('tsigkeys', opened.key('k'));
  await pass();
  expect(await shownServer()).toMatchObject({ state: 'failed', error_code: 'no_process' });
  expect(await stateOf(key)).toBe('failed');
});

describe('the reconciler', () => {
  test('delivers 300 keys that are created during a pass in the next one', async () => {
    const [begun, created] = [new EventEmitter(), new EventEmitter()];
    const isCreated = once(created, 'end');
    folder.onApply(async () => {
      begun.emit('apply');
      await isCreated;
    });
    const isBegun = once(begun, 'apply');
    startFolderReconciler(delivery);
    await opened.create('tsigkeys', opened.key('first'));
    await isBegun;
    await Promise.all(
      Array.from({ length: 300 }, (_, index) => opened.create('tsigkeys', opened.key(`k${index}`))),
    );
    created.emit('end');
    await expect.poll(() => Object.keys(folder.keys()).length, { interval: 10 }).toBe(301);
    expect(folder.applies()).toBeLessThanOrEqual(2); // without `first`, the pass changed nothing
  });

  test('releases its leases when it stops', async () => {
    const reconciler = startFolderReconciler(delivery);
    await opened.create('tsigkeys', opened.key('k'));
    await expect.poll(() => folder.keys(), { interval: 10 }).toEqual({ k: 1 });
    await reconciler.close(AbortSignal.timeout(1000));
    const row = await opened.database.reads.one('SELECT holder FROM nameservers', []);
    expect(row?.holder).toBeNull();
  });
});
