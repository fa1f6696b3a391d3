import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Dependencies } from '../../src/resources/operations/change.ts';
import {
  createResource,
  deleteResource,
  updateResource,
} from '../../src/resources/operations/collection.ts';
import type { Store } from '../../src/core/ports.ts';
import type { Slicer } from '../../src/core/scheduling/slicer.ts';
import { tld } from '../../src/resources/tld.ts';
import { readActionBody } from '../../src/resources/operations/action.ts';
import { BULK_BODY } from '../../src/tlds/bulk-request.ts';
import { changeTlds } from '../../src/tlds/actions.ts';
import { CALLER, dependenciesOn, openStore } from '../harness/dependencies.ts';
import { temporaryFolder } from '../harness/service.ts';

const CONTEXT = { caller: CALLER };

let folder: string;
let store: Store;
let dependencies: Dependencies;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await openStore(`sqlite:${join(folder, 'tsigil.db')}`);
  dependencies = dependenciesOn(store);
});
afterEach(() => store.close());

/** Returns a slicer whose slices end when `isOver` returns true. `turns` counts its yields. */
function slicer(isOver = () => false): Slicer & { turns: number } {
  const own = {
    isOver,
    turns: 0,
    next: async () => void (own.turns += 1),
    forTransaction: () => own,
  };
  return own;
}

const LIST = { tlds: [{ name: 'com', description: 'new' }, { name: 'org' }] };
const create = (name: string, description: string | null = null) =>
  createResource(dependencies, tld, CONTEXT, { name, description });
const stored = async () =>
  (await store.list(tld, { limit: 10, sortField: 'name', descending: false, conditions: [] })).map(
    ({ name, description }) => [name, description],
  );

test('a list is compared with what earlier writes left, even those of the same transaction', async () => {
  const [com, org] = [await create('com', 'old'), await create('org')];
  let renamed: Promise<unknown> | undefined;
  const write: Store['write'] = async (work) => {
    await deleteResource(dependencies, tld, CONTEXT, org.id);
    // Do not await the update, so that both writes share a transaction and the update comes first.
    renamed = updateResource(dependencies, tld, CONTEXT, com.id, { name: 'net' });
    return store.write(work);
  };
  const { results } = await changeTlds(
    { ...dependencies, store: { ...store, write } },
    CONTEXT,
    readActionBody(BULK_BODY, LIST),
    slicer(),
  );
  await renamed;
  expect(results.map(({ outcome }) => outcome)).toEqual(['added', 'added']);
  expect(await stored()).toEqual([
    ['com', 'new'],
    ['net', 'old'],
    ['org', null],
  ]);
});

test('a list that yields many times is atomic for readers, and other writes wait for the list', async () => {
  const isUnderWay = { value: true };
  const yielding: Slicer = {
    isOver: () => true,
    next: () => new Promise((resume) => setImmediate(resume)),
    forTransaction: () => yielding,
  };
  const entries = Array.from({ length: 600 }, (_, index) => ({ name: `name-${index}` }));
  const waited: number[] = [];
  const write: Store['write'] = (work) => {
    const result = store.write(work);
    // This write begins in a later turn, so that it is not part of the same transaction.
    setTimeout(
      () => void store.write(async (writer) => waited.push(await writer.count(tld, []))),
      5,
    );
    return result;
  };
  const change = changeTlds(
    { ...dependencies, store: { ...store, write } },
    CONTEXT,
    readActionBody(BULK_BODY, { tlds: entries }),
    yielding,
  );
  const end = change.finally(() => (isUnderWay.value = false));
  const seen = new Set<number>();
  while (isUnderWay.value) {
    seen.add(await store.count(tld, []));
    await new Promise((resume) => setImmediate(resume));
  }
  await end;
  expect([...seen].filter((count) => count !== 0 && count !== entries.length)).toEqual([]);
  await store.write(async () => undefined);
  expect(waited).toEqual([entries.length]);
});

test('a list that fails after it yielded changes nothing', async () => {
  const write: Store['write'] = (work) =>
    store.write(async (writer) => {
      await work(writer);
      throw new Error('after the last slice');
    });
  const entries = Array.from({ length: 600 }, (_, index) => ({ name: `name-${index}` }));
  const failing = changeTlds(
    { ...dependencies, store: { ...store, write } },
    CONTEXT,
    readActionBody(BULK_BODY, { tlds: entries }),
    slicer(() => true),
  );
  await expect(failing).rejects.toThrow('after the last slice');
  expect(await stored()).toEqual([]);
});

test('gives new entries ids in the order of their names, and timestamps in the order of the list', async () => {
  await changeTlds(
    dependencies,
    CONTEXT,
    readActionBody(BULK_BODY, { tlds: [{ name: 'c' }, { name: 'a' }, { name: 'b' }] }),
    slicer(),
  );
  const by = async (sortField: string) =>
    (await store.list(tld, { limit: 10, sortField, descending: false, conditions: [] }))
      .map(({ name }) => name)
      .join('');
  expect([await by('id'), await by('created_at')]).toEqual(['abc', 'cab']);
});
