import { describe, expect, test } from 'vitest';
import { cachedFlight, singleFlight } from '../../../src/core/scheduling/single-flight.ts';

/**
 * Returns a function that starts work, and the list of runs. The test resolves or rejects each run.
 */
function work() {
  const runs: { resolve: (value: number) => void; reject: (error: Error) => void }[] = [];
  return {
    runs,
    begin: () => new Promise<number>((resolve, reject) => runs.push({ resolve, reject })),
  };
}

describe('singleFlight', () => {
  test('runs the work once for concurrent callers, and again for the next caller', async () => {
    const { runs, begin } = work();
    const share = singleFlight(begin);
    const both = [share(), share()];
    expect(runs).toHaveLength(1);
    runs[0]?.resolve(1);
    expect(await Promise.all(both)).toEqual([1, 1]);
    const third = share();
    expect(runs).toHaveLength(2);
    runs[1]?.resolve(2);
    expect(await third).toBe(2);
  });

  test('rejects for all callers of a failed run, and runs the work again for the next caller', async () => {
    const { runs, begin } = work();
    const share = singleFlight(begin);
    const both = [share(), share()];
    runs[0]?.reject(new Error('broken'));
    for (const each of both) await expect(each).rejects.toThrow('broken');
    const next = share();
    runs[1]?.resolve(3);
    expect(await next).toBe(3);
  });
});

describe('cachedFlight', () => {
  test('runs the work again when the result reaches its maximum age, counted from the start of the run', async () => {
    let now = 0;
    const { runs, begin } = work();
    const read = cachedFlight(15, () => now, begin);
    const first = read();
    now = 10;
    runs[0]?.resolve(1);
    expect(await first).toBe(1);
    now = 14.9;
    expect(await read()).toBe(1);
    now = 15;
    const both = [read(), read()];
    expect(runs).toHaveLength(2);
    runs[1]?.resolve(2);
    expect(await Promise.all(both)).toEqual([2, 2]);
  });

  test('does not cache an error', async () => {
    const { runs, begin } = work();
    const read = cachedFlight(15, () => 0, begin);
    const first = read();
    runs[0]?.reject(new Error('broken'));
    await expect(first).rejects.toThrow('broken');
    const second = read();
    runs[1]?.resolve(2);
    expect(await second).toBe(2);
  });
});
