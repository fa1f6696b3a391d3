import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PageQuery, keyed } from '../../src/core/query.ts';
import { tld } from '../../src/resources/tld.ts';
import { migrate } from '../../src/sql/migrate.ts';
import type { Database } from '../../src/sql/sql.ts';
import { openSqlite } from '../../src/sql/sqlite/open.ts';
import {
  createScanThread,
  startScanWorker,
  type ScanThread,
} from '../../src/sql/sqlite/scans/scan-thread.ts';
import { createStore } from '../../src/database/store.ts';
import { temporaryFolder } from '../harness/service.ts';
import { NOW, tldNamed } from './samples.ts';

const QUERY: PageQuery = {
  limit: 10,
  sortField: 'created_at',
  descending: false,
  conditions: [{ field: 'name', test: 'matches', value: '*o*' }],
};
const live = () => new AbortController().signal;

let folder: string;
let path: string;
let database: Database;
let threads: ScanThread[];
beforeEach(async () => {
  folder = temporaryFolder();
  path = join(folder, 'scanned.db');
  database = await openSqlite(path, { committed: () => undefined });
  await migrate(database, NOW);
  await createStore(database).write((writer) =>
    writer.putAll(
      tld,
      ['com', 'org', 'net'].map((name) => keyed(tld, tldNamed(name))),
    ),
  );
  threads = [];
});
afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.close()));
  await database.close();
});

/**
 * Runs scans in threads that the functions in `starts` start one after another. The last function
 * starts all further threads. `begun` contains the started threads.
 */
function threadOf(
  starts: readonly (() => Worker)[],
  idleMs?: number,
): { thread: ScanThread; begun: Worker[] } {
  const begun: Worker[] = [];
  const thread = createScanThread(() => {
    const worker = (starts[begun.length] ?? starts.at(-1) ?? (() => startScanWorker(path)))();
    begun.push(worker);
    return worker;
  }, idleMs);
  threads.push(thread);
  return { thread, begun };
}

const namesOf = async (scan: ReturnType<ScanThread['scan']>) =>
  (await scan).resources.map(({ name }) => name).toSorted();

describe('the thread for scans', () => {
  test('starts with the first scan, runs all scans, and exits when idle', async () => {
    const { thread, begun } = threadOf([], 50);
    expect(begun).toHaveLength(0);
    const scans = Array.from({ length: 20 }, () => namesOf(thread.scan('tlds', QUERY, live())));
    for (const names of await Promise.all(scans)) expect(names).toEqual(['com', 'org']);
    expect(begun).toHaveLength(1);
    await once(begun[0] as Worker, 'exit');
    expect(await namesOf(thread.scan('tlds', QUERY, live()))).toEqual(['com', 'org']);
    expect(begun).toHaveLength(2);
  });

  test('reads the latest commit', async () => {
    const { thread } = threadOf([]);
    const store = createStore(database);
    for (let number = 0; number < 20; number += 1) {
      await store.write((writer) => writer.insert(tld, keyed(tld, tldNamed(`o${number}`))));
      expect(await namesOf(thread.scan('tlds', { ...QUERY, limit: 1000 }, live()))).toContain(
        `o${number}`,
      );
    }
  });

  test('returns 503 for its scans if it exits, and the next scan starts a new thread', async () => {
    const dying = () =>
      new Worker(`require('node:worker_threads').parentPort.on('message', () => process.exit(7))`, {
        eval: true,
      });
    const failing = () => new Worker(`throw new Error('out of luck')`, { eval: true });
    const { thread, begun } = threadOf([dying, failing, () => startScanWorker(path)]);
    for (let death = 0; death < 2; death += 1) {
      const scans = [thread.scan('tlds', QUERY, live()), thread.scan('tlds', QUERY, live())];
      for (const scan of scans)
        await expect(scan).rejects.toMatchObject({
          code: 'unavailable',
          details: { retryAfterSeconds: 1 },
        });
    }
    expect(await namesOf(thread.scan('tlds', QUERY, live()))).toEqual(['com', 'org']);
    expect(begun).toHaveLength(3);
  });

  test('returns 503 only for the current scan if its memory is full', async () => {
    const greedy = `const kept = []; require('node:worker_threads').parentPort.on('message', () => { for (;;) kept.push(new Array(1e5).fill(kept.length)); })`;
    const { thread } = threadOf([
      () => new Worker(greedy, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 16 } }),
      () => startScanWorker(path),
    ]);
    await expect(thread.scan('tlds', QUERY, live())).rejects.toMatchObject({ code: 'unavailable' });
    expect(await namesOf(thread.scan('tlds', QUERY, live()))).toEqual(['com', 'org']);
  });

  test('stops a cancelled scan and continues with the other scans', async () => {
    const { thread } = threadOf([]);
    const controller = new AbortController();
    const reason = new Error('the caller has left');
    const cancelled = thread.scan('tlds', QUERY, controller.signal);
    const other = thread.scan('tlds', QUERY, live());
    controller.abort(reason);
    await expect(cancelled).rejects.toBe(reason);
    expect(await namesOf(other)).toEqual(['com', 'org']);
    await expect(thread.scan('tlds', QUERY, controller.signal)).rejects.toBe(reason);
  });

  test('returns 503 if the database cannot be read', async () => {
    const { thread } = threadOf([
      () => startScanWorker(join(folder, 'missing.db')),
      () => startScanWorker(path),
    ]);
    await expect(thread.scan('tlds', QUERY, live())).rejects.toMatchObject({ code: 'unavailable' });
    expect(await namesOf(thread.scan('tlds', QUERY, live()))).toEqual(['com', 'org']);
  });
});
