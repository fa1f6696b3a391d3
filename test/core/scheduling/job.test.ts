import { expect, test } from 'vitest';
import { runJob } from '../../../src/core/scheduling/job.ts';

/** Starts a job that only `wake` runs. Each run waits until the test ends it. */
function start(lease?: { isHeldElsewhere(): Promise<boolean>; release(): Promise<void> }) {
  const runs: { end(): void; fail(): void }[] = [];
  const errors: unknown[] = [];
  const job = runJob({
    everyMs: 1_000_000,
    lease,
    work: () =>
      new Promise<void>((resolve, reject) =>
        runs.push({ end: resolve, fail: () => reject(new Error('no')) }),
      ),
    failed: (error) => errors.push(error),
  });
  return {
    job,
    runs,
    errors,
    count: (wanted: number) => expect.poll(() => runs.length).toBe(wanted),
  };
}

test('runs never overlap, and many requests during a run cause one more', async () => {
  const { job, runs, count } = start();
  for (let index = 0; index < 5; index += 1) job.wake();
  await count(1);
  for (let index = 0; index < 5; index += 1) job.wake();
  expect(runs).toHaveLength(1);
  runs[0]?.end();
  await count(2);
  runs[1]?.end();
  await job.close();
  expect(runs).toHaveLength(2);
});

test('reports the first error after a success', async () => {
  const { job, runs, errors, count } = start();
  for (const [index, outcome] of (['fail', 'fail', 'end', 'fail'] as const).entries()) {
    job.wake();
    await count(index + 1);
    runs[index]?.[outcome]();
  }
  await job.close();
  expect(errors).toHaveLength(2);
});

test('runs at its interval until it is closed', async () => {
  let count = 0;
  const job = runJob({
    everyMs: 5,
    work: () => Promise.resolve((count += 1)),
    failed: () => undefined,
  });
  await expect.poll(() => count).toBeGreaterThan(3);
  await job.close();
  const atEnd = count;
  job.wake();
  await new Promise((resume) => setTimeout(resume, 30));
  expect(count).toBe(atEnd);
});

test('waits for the run in progress, does the last work, and releases the lease', async () => {
  const steps: string[] = [];
  const { job, runs, count } = start({
    isHeldElsewhere: () => Promise.resolve(false),
    release: () => Promise.resolve(void steps.push('released')),
  });
  job.wake();
  await count(1);
  const closed = job.close(() => Promise.resolve(steps.push('last')));
  expect(steps).toEqual([]);
  runs[0]?.end();
  await closed;
  expect(steps).toEqual(['last', 'released']);
});

test('does nothing while another process holds the lease', async () => {
  let asked = 0;
  const { job, runs } = start({
    isHeldElsewhere: () => Promise.resolve((asked += 1) > 0),
    release: () => Promise.resolve(),
  });
  job.wake();
  await expect.poll(() => asked).toBe(1);
  await job.close();
  expect(runs).toEqual([]);
});
