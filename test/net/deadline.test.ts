import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { signalWithin } from '../../src/net/deadline.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Resolves with the reason of an abort. The caller keeps no reference to the signal. */
function reasonOf(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

test('aborts at its deadline, even if the garbage collector runs before that time', async () => {
  const collecting = setInterval(collectGarbage, 20);
  const outer = new AbortController();
  const reasons = await Promise.all([
    reasonOf(signalWithin(300)),
    reasonOf(signalWithin(300, outer.signal)),
    reasonOf(signalWithin(300, signalWithin(10_000, outer.signal))),
    reasonOf(signalWithin(10_000, signalWithin(300))),
  ]);
  clearInterval(collecting);
  expect(reasons.map((reason) => (reason as Error).name)).toEqual(Array(4).fill('TimeoutError'));
});

test('aborts when one of its signals aborts, with the same reason', async () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const reason = reasonOf(signalWithin(10_000, one.signal, other.signal));
  collectGarbage();
  other.abort('stopped');
  expect(await reason).toBe('stopped');
  expect(signalWithin(10_000, one.signal, other.signal).reason).toBe('stopped');
});
