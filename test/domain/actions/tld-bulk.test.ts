import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Dependencies } from '../../../src/domain/operations/change.ts';
import {
  createResource,
  deleteResource,
  updateResource,
} from '../../../src/domain/operations/collection.ts';
import type { Store } from '../../../src/domain/model/ports.ts';
import type { Slicer } from '../../../src/domain/scheduling/slicer.ts';
import { tld } from '../../../src/domain/resources/tld.ts';
import { readActionBody } from '../../../src/domain/actions/action.ts';
import { BULK_BODY } from '../../../src/domain/actions/bulk-request.ts';
import { changeTlds } from '../../../src/domain/actions/tld-bulk.ts';
import { CALLER, dependenciesOn, openStore } from '../../harness/dependencies.ts';
import { temporaryFolder } from '../../harness/service.ts';

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

/**
 * Applies a list. Calls `meanwhile` after the list is planned and before the transaction. Returns
 * the outcomes and the number of queries for entries in the transaction.
 */
async function apply(body: object, meanwhile: (entries: Dependencies) => Promise<unknown>) {
  let readInTransaction = 0;
  const write: Store['write'] = async (work) => {
    await meanwhile(dependencies);
    return store.write((writer) =>
      work({
        ...writer,
        find: (...query) => {
          readInTransaction += 1;
          return writer.find(...query);
        },
      }),
    );
  };
  const { outcomes } = await changeTlds(
    { ...dependencies, store: { ...store, write } },
    CONTEXT,
    readActionBody(BULK_BODY, body),
    slicer(),
  );
  return { outcomes: outcomes.map(({ outcome }) => outcome), readInTransaction };
}

const LIST = { tlds: [{ name: 'com', description: 'new' }, { name: 'org' }] };
const create = (name: string, description: string | null = null) =>
  createResource(dependencies, tld, CONTEXT, { name, description });
const stored = async () =>
  (await store.list(tld, { limit: 10, sortField: 'name', descending: false, conditions: [] })).map(
    ({ name, description }) => [name, description],
  );

describe('a list that is planned before its transaction', () => {
  test('is written without another query if no entry changed before the transaction', async () => {
    await create('com', 'old');
    expect(await apply(LIST, async () => undefined)).toEqual({
      outcomes: ['updated', 'added'],
      readInTransaction: 0,
    });
    expect(await stored()).toEqual([
      ['com', 'new'],
      ['org', null],
    ]);
  });

  test('is planned again if an entry was created before the transaction', async () => {
    expect(await apply(LIST, () => create('org', 'mine'))).toEqual({
      outcomes: ['added', 'unchanged'],
      readInTransaction: 1,
    });
    expect(await stored()).toEqual([
      ['com', 'new'],
      ['org', 'mine'],
    ]);
  });

  test('is planned again if an entry was renamed, updated or deleted before the transaction', async () => {
    const [com, org] = [await create('com', 'new'), await create('org')];
    const change = async () => {
      await updateResource(dependencies, tld, CONTEXT, com.id, { name: 'net' });
      await deleteResource(dependencies, tld, CONTEXT, org.id);
    };
    expect((await apply(LIST, change)).outcomes).toEqual(['added', 'added']);
    expect((await stored()).map(([name]) => name)).toEqual(['com', 'net', 'org']);
  });

  test('is planned again if an earlier write of the same transaction changed an entry', async () => {
    const { id } = await create('com', 'old');
    let renamed: Promise<unknown> | undefined;
    // Do not await the update, so that both writes share a transaction and the update comes first.
    const { outcomes } = await apply(LIST, async () => {
      renamed = updateResource(dependencies, tld, CONTEXT, id, { name: 'net' });
    });
    await renamed;
    expect(outcomes).toEqual(['added', 'added']);
    expect(await stored()).toEqual([
      ['com', 'new'],
      ['net', 'old'],
      ['org', null],
    ]);
  });
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
