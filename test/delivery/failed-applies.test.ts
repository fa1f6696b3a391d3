import { afterEach, beforeEach, expect, test } from 'vitest';
import { DriverError, type Driver } from '../../src/brands/driver.ts';
import { deliveriesOf } from '../../src/delivery/shown-deliveries.ts';
import { tsigkey } from '../../src/resources/tsigkey.ts';
import { createDeliveryStatus } from '../../src/delivery/store/delivery-status.ts';
import { makePass, type PassDependencies } from '../../src/delivery/reconciler/pass.ts';
import type { DeliveryDatabase } from './database.ts';
import type { FolderServer } from './folder-driver.ts';
import {
  openFolderDelivery,
  passDependencies,
  requestPassOf,
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

const pass = (changes: Partial<PassDependencies> = {}) =>
  makePass(passDependencies(delivery, changes), server);
const retry = () => requestPassOf(delivery);

test("the name of a key counts as Tsigil's only after the driver has begun to deliver the key", async () => {
  await opened.create('tsigkeys', opened.key('k'));
  await opened.create('tsigkeys', opened.key('taken'));
  const names: string[][] = [];
  let code: 'unreachable' | 'timeout' | undefined = 'unreachable';
  const driver: Driver = {
    ...folder.driver,
    apply(state, owned, signal, intend) {
      names.push([...owned]);
      const keys = state.keys.filter(({ name }) => name !== 'taken');
      if (code === 'unreachable') throw new DriverError(code, 'Nothing listens.');
      return folder.driver.apply({ ...state, keys }, owned, signal, async (given) => {
        await intend?.(given);
        if (code === 'timeout') throw new DriverError(code, 'No response.');
      });
    },
  };
  await pass({ driver });
  await retry();
  code = 'timeout';
  await pass({ driver });
  await retry();
  code = undefined;
  await pass({ driver });
  expect(names).toEqual([[], [], ['k']]);
});

const DOWN = new DriverError('unreachable', 'Nothing listens.');

/** Returns the state of a key as callers see it. */
async function stateOf(id: string): Promise<string> {
  const key = await opened.store.get(tsigkey, id);
  if (key === undefined) throw new Error(`There is no key ${id}`);
  await passDependencies(delivery).store.seen([server]);
  const status = createDeliveryStatus(opened.database, opened.store);
  const [places = []] = await status.ofKeys([key]);
  return deliveriesOf(key, places).state;
}

test('a failure that is older than a change leaves the key pending until an attempt after the change ends', async () => {
  folder.fail(DOWN);
  await pass();
  const key = await opened.create('tsigkeys', opened.key('k'));
  expect(await stateOf(key)).toBe('pending');
  await retry();
  await pass();
  expect(await stateOf(key)).toBe('failed');
  await opened.update('tsigkeys', key, { name: 'renamed' });
  expect(await stateOf(key)).toBe('pending');
  folder.fail(undefined);
  await retry();
  await pass();
  expect(await stateOf(key)).toBe('delivered');
  // A verification that failed says as little about a later change as a failed apply.
  const { verify } = folder;
  const failures = new Map([[key, { code: 'not_verified', message: 'rejected' }]]);
  await opened.update('tsigkeys', key, { name: 'k' });
  await pass({ verify: () => Promise.resolve({ failures, open: undefined }) });
  expect(await stateOf(key)).toBe('failed');
  await opened.update('tsigkeys', key, { name: 'renamed' });
  expect(await stateOf(key)).toBe('pending');
  await pass({ verify });
  expect(await stateOf(key)).toBe('delivered');
});

test('a change that a failing attempt did not read is pending, and so is a requested comparison', async () => {
  let key = '';
  const driver: Driver = {
    ...folder.driver,
    async apply() {
      key = await opened.create('tsigkeys', opened.key('k'));
      throw DOWN;
    },
  };
  await pass({ driver });
  expect(await stateOf(key)).toBe('pending');
  folder.fail(DOWN);
  await retry();
  await pass();
  expect(await stateOf(key)).toBe('failed');
  await retry();
  expect(await stateOf(key)).toBe('pending');
});

test('a key stays failed while other keys and zones change', async () => {
  folder.fail(DOWN);
  const key = await opened.create('tsigkeys', opened.key('k'));
  await pass();
  await opened.create('tsigkeys', opened.key('other'));
  await opened.create('zones', { name: 'example.org.', email: 'a@example.org' });
  expect(await stateOf(key)).toBe('failed');
});
