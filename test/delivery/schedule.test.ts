import { expect, test } from 'vitest';
import { retryMs } from '../../src/delivery/reconciler/schedule.ts';

test('the time between two attempts doubles up to 15 s, or up to 3 s after a failure that costs little', () => {
  const longest = (code: string) =>
    [1, 2, 3, 4, 5, 100].map((attempts) => retryMs(attempts, code, () => 1));
  expect(longest('not_verified')).toEqual([2000, 4000, 8000, 15_000, 15_000, 15_000]);
  expect(longest('unreachable')).toEqual([2000, 3000, 3000, 3000, 3000, 3000]);
  expect(retryMs(3, 'not_verified', () => 0.25)).toBe(2000);
});
