import { expect, test } from 'vitest';
import { newBursts } from '../../src/nameservers/bursts.ts';

/** Makes 2,000 changes per second until the returned function is called. */
function makeChanges(changed: () => void): () => void {
  const timer = setInterval(() => {
    for (let count = 0; count < 20; count += 1) changed();
  }, 10);
  return () => clearInterval(timer);
}

const never = new AbortController().signal;

test('a single change is delivered at once', async () => {
  const bursts = newBursts();
  const began = performance.now();
  bursts.changed();
  await bursts.quiet(never);
  expect(performance.now() - began).toBeLessThan(1000);
});

test('the changes of a burst are delivered together when it ends', async () => {
  const bursts = newBursts();
  const stop = makeChanges(bursts.changed);
  let isQuiet = false;
  const quiet = bursts.quiet(never).then(() => {
    isQuiet = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(isQuiet).toBe(false);
  stop();
  const ended = performance.now();
  await quiet;
  expect(performance.now() - ended).toBeLessThan(2000);
});

test('a burst that does not end delays the delivery for 3 s', async () => {
  const bursts = newBursts();
  const stop = makeChanges(bursts.changed);
  const began = performance.now();
  await bursts.quiet(never);
  stop();
  expect(performance.now() - began).toBeGreaterThanOrEqual(3000);
  expect(performance.now() - began).toBeLessThan(6000);
});

test('a process that stops does not wait for the end of a burst', async () => {
  const bursts = newBursts();
  const stop = makeChanges(bursts.changed);
  const stopping = new AbortController();
  const began = performance.now();
  const quiet = bursts.quiet(stopping.signal);
  stopping.abort();
  await quiet;
  stop();
  expect(performance.now() - began).toBeLessThan(2000);
});
