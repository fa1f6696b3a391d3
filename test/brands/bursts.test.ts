import { expect, test } from 'vitest';
import { untilCalm } from '../../src/brands/bursts.ts';

const never = () => false;

/**
 * Returns a count of changes that is 20 higher at each of the first `length` calls, and a clock that
 * each call advances by 100 ms.
 */
function burst(length: number) {
  let counts = 0;
  const countChanges = () => Promise.resolve(20 * Math.min((counts += 1), length));
  return { countChanges, counts: () => counts, milliseconds: () => counts * 100 };
}

test('a single change is delivered at once', async () => {
  const { countChanges, counts, milliseconds } = burst(1);
  await untilCalm(countChanges, never, milliseconds);
  expect(counts()).toBe(2);
});

test('the changes of a burst are delivered together when the burst ends', async () => {
  const { countChanges, counts, milliseconds } = burst(4);
  await untilCalm(countChanges, never, milliseconds);
  expect(counts()).toBe(5);
});

test('a burst that does not end delays the delivery by 1 s', async () => {
  const { countChanges, counts, milliseconds } = burst(Infinity);
  await untilCalm(countChanges, never, milliseconds);
  expect(counts()).toBe(10);
});

test('a process that stops does not wait for the end of a burst', async () => {
  const { countChanges, counts, milliseconds } = burst(Infinity);
  await untilCalm(countChanges, () => true, milliseconds);
  expect(counts()).toBe(1);
});
