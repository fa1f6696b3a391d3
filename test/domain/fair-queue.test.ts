import { describe, expect, test } from 'vitest';
import { createFairQueue } from '../../src/domain/fair-queue.ts';

const ROOMY = { concurrency: 1, concurrencyPerOwner: 1, maxWaiting: 100, maxWaitingPerOwner: 100 };

/** Jobs that run until they are released, and the order in which they began. */
function jobs() {
  const began: string[] = [];
  const releases = new Map<string, () => void>();
  const job = (name: string) => () =>
    new Promise<string>((resolve) => {
      began.push(name);
      releases.set(name, () => resolve(name));
    });
  const release = async (name: string) => {
    releases.get(name)?.();
    await new Promise((resume) => setImmediate(resume));
  };
  return { began, job, release };
}

describe('a fair queue', () => {
  test('runs the first job of another owner before the queued jobs of a busy one', async () => {
    const { began, job, release } = jobs();
    const queue = createFairQueue(ROOMY);
    const all = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => queue.run(name.slice(0, 1), job(name)));
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3']) await release(name);
    await Promise.all(all);
    expect(began).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  test('leaves slots free for other owners', async () => {
    const { began, job, release } = jobs();
    const queue = createFairQueue({ ...ROOMY, concurrency: 3, concurrencyPerOwner: 2 });
    const all = ['a1', 'a2', 'a3', 'b1'].map((name) => queue.run(name.slice(0, 1), job(name)));
    expect(began).toEqual(['a1', 'a2', 'b1']);
    for (const name of ['a1', 'a2', 'a3', 'b1']) await release(name);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1']);
  });

  test('refuses only an owner whose jobs fill its share of the queue', async () => {
    const { job, release } = jobs();
    const queue = createFairQueue({ ...ROOMY, maxWaitingPerOwner: 1, maxWaiting: 2 });
    const all = ['a1', 'a2'].map((name) => queue.run('a', job(name)));
    await expect(queue.run('a', job('a3'))).rejects.toMatchObject({ code: 'unavailable', details: { retryAfterSeconds: 1 } });
    all.push(queue.run('b', job('b1')));
    await expect(queue.run('c', job('c1'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(queue.waiting).toBe(2);
    for (const name of ['a1', 'b1', 'a2']) await release(name);
    expect((await Promise.all(all)).sort()).toEqual(['a1', 'a2', 'b1']);
  });

  test('drops a waiting job when its signal aborts, and runs the next one', async () => {
    const { began, job, release } = jobs();
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
    expect(queue.waiting).toBe(0);
  });

  test('frees the slot of a job that throws', async () => {
    const queue = createFairQueue(ROOMY);
    await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await queue.run('a', () => Promise.resolve(1))).toBe(1);
  });
});
