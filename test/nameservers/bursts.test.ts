import { expect, test } from 'vitest';
import { untilCalm } from '../../src/nameservers/bursts.ts';

const never = () => false;

/** Returns a count of changes that grows by 2,000 per second until `stop` is called. */
function burst() {
  let count = 0;
  const timer = setInterval(() => (count += 20), 10);
  return { countChanges: () => Promise.resolve(count), stop: () => clearInterval(timer) };
}

test('a single change is delivered at once', async () => {
  const began = performance.now();
  await untilCalm(() => Promise.resolve(1), never);
  expect(performance.now() - began).toBeLessThan(500);
});

test('the changes of a burst are delivered together when the burst ends', async () => {
  const { countChanges, stop } = burst();
  let isCalm = false;
  const calm = untilCalm(countChanges, never).then(() => {
    isCalm = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(isCalm).toBe(false);
  stop();
  await calm;
});

test('a burst that does not end delays the delivery by 1 s', async () => {
  const { countChanges, stop } = burst();
  const began = performance.now();
  await untilCalm(countChanges, never);
  stop();
  expect(performance.now() - began).toBeGreaterThanOrEqual(1000);
  expect(performance.now() - began).toBeLessThan(3000);
});

test('a process that stops does not wait for the end of a burst', async () => {
  const { countChanges, stop } = burst();
  const began = performance.now();
  await untilCalm(countChanges, () => true);
  stop();
  expect(performance.now() - began).toBeLessThan(500);
});
