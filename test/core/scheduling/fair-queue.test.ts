import { describe, expect, test } from 'vitest';
import { createFairQueue } from '../../../src/core/scheduling/fair-queue.ts';
import { heldJobs } from '../../harness/held-jobs.ts';

const ROOMY = { concurrency: 1, concurrencyPerOwner: 1, maxWaiting: 100, maxWaitingPerOwner: 100 };

describe('a fair queue', () => {
  test('runs the first job of another owner before the queued jobs of a busy owner', async () => {
    const { began, job, release } = heldJobs();
    const queue = createFairQueue(ROOMY);
    const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) =>
      queue.run(name.slice(0, 1), job(name)),
    );
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3']) await release(name);
    await Promise.all(all);
    expect(began).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  test('leaves slots free for other owners', async () => {
    const { began, job, release } = heldJobs();
    const queue = createFairQueue({ ...ROOMY, concurrency: 3, concurrencyPerOwner: 2 });
    const all = ['a1', 'a2', 'a3', 'b1'].map((name) => queue.run(name.slice(0, 1), job(name)));
    expect(began).toEqual(['a1', 'a2', 'b1']);
    for (const name of ['a1', 'a2', 'a3', 'b1']) await release(name);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1']);
  });

  test('refuses only an owner whose jobs fill its share of the queue', async () => {
    const { job, release } = heldJobs();
    const queue = createFairQueue({ ...ROOMY, maxWaitingPerOwner: 1, maxWaiting: 2 });
    const all = ['a1', 'a2'].map((name) => queue.run('a', job(name)));
    await expect(queue.run('a', job('a3'))).rejects.toMatchObject({
      code: 'unavailable',
      details: { retryAfterSeconds: 1 },
    });
    all.push(queue.run('b', job('b1')));
    await expect(queue.run('c', job('c1'))).rejects.toMatchObject({ code: 'unavailable' });
    for (const name of ['a1', 'b1', 'a2']) await release(name);
    expect((await Promise.all(all)).sort()).toEqual(['a1', 'a2', 'b1']);
  });

  test('drops a waiting job when its signal aborts, and runs the next job', async () => {
    const { began, job, release } = heldJobs();
    const queue = createFairQueue(ROOMY);
    const left = new AbortController();
    const first = queue.run('a', job('a1'));
    const second = queue.run('b', job('b1'), left.signal);
    const third = queue.run('c', job('c1'));
    left.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    await release('a1');
    await release('c1');
    await Promise.all([first, third]);
    expect(began).toEqual(['a1', 'c1']);
  });

  test('frees the slot of a job that throws', async () => {
    const queue = createFairQueue(ROOMY);
    await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow(
      'failed',
    );
    expect(await queue.run('a', () => Promise.resolve(1))).toBe(1);
  });

  describe('with jobs that take several slots', () => {
    const WEIGHTED = { ...ROOMY, concurrency: 10, concurrencyPerOwner: 6 };

    test('runs jobs while the queue and their owner have free slots', async () => {
      const { began, job, release } = heldJobs();
      const queue = createFairQueue(WEIGHTED);
      const run = (name: string, slots: number) =>
        queue.run(name.slice(0, 1), job(name), undefined, slots);
      const all = [run('a1', 4), run('a2', 3), run('b1', 4), run('c1', 3), run('c2', 1)];
      expect(began).toEqual(['a1', 'b1']);
      await release('a1');
      expect(began).toEqual(['a1', 'b1', 'c1', 'a2']);
      await release('b1');
      for (const name of ['a2', 'c1', 'c2']) await release(name);
      expect((await Promise.all(all)).sort()).toEqual(['a1', 'a2', 'b1', 'c1', 'c2']);
    });

    test('does not start a job before an earlier job that waits for more slots', async () => {
      const { began, job, release } = heldJobs();
      const queue = createFairQueue(WEIGHTED);
      const run = (name: string, slots: number) =>
        queue.run(name.slice(0, 1), job(name), undefined, slots);
      const all = [run('a1', 6), run('b1', 5), run('c1', 1)];
      expect(began).toEqual(['a1']);
      await release('a1');
      expect(began).toEqual(['a1', 'b1', 'c1']);
      for (const name of ['b1', 'c1']) await release(name);
      await Promise.all(all);
    });

    test("runs the later jobs if a waiting job's signal aborts", async () => {
      const { began, job, release } = heldJobs();
      const queue = createFairQueue(WEIGHTED);
      const left = new AbortController();
      const first = queue.run('a', job('a1'), undefined, 6);
      const second = queue.run('b', job('b1'), left.signal, 5);
      const third = queue.run('c', job('c1'), undefined, 1);
      left.abort(new Error('gone'));
      await expect(second).rejects.toThrow('gone');
      expect(began).toEqual(['a1', 'c1']);
      for (const name of ['a1', 'c1']) await release(name);
      await Promise.all([first, third]);
    });

    test('runs a job alone if it needs more slots than an owner may have', async () => {
      const queue = createFairQueue(WEIGHTED);
      expect(await queue.run('a', () => Promise.resolve(1), undefined, 100)).toBe(1);
    });
  });
});
