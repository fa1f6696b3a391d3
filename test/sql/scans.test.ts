import { expect, test, vi } from 'vitest';
import { ServiceError } from '../../src/core/errors.ts';
import { createScans } from '../../src/sql/scans.ts';

const SLOTS = { concurrency: 3, concurrencyPerOwner: 2, timeoutSeconds: 10 };
const turnOf = (owner: string, signal?: AbortSignal) => ({ owner, signal: () => signal });
const never = () => new Promise<never>(() => undefined);
const soon = () => new Promise((resume) => setImmediate(resume));

test('a scan fails with a remedy at the time limit, and occupies its slot until it has ended', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const runScan = createScans({ ...SLOTS, concurrency: 1 });
    let end: (() => void) | undefined;
    let seen: AbortSignal | undefined;
    const slow = runScan(turnOf('one'), (signal) => {
      seen = signal;
      return new Promise<void>((resolve) => (end = resolve));
    });
    const refused = expect(slow).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'The list took longer than 10 s. Filter by an exact name, or omit patterns, other filters and sort keys.',
      details: { retryAfterSeconds: 5 },
    });
    vi.advanceTimersByTime(10_000);
    await refused;
    expect(seen?.aborted).toBe(true);

    let began = false;
    const next = runScan(turnOf('other'), async () => {
      began = true;
    });
    await soon();
    expect(began).toBe(false);
    end?.();
    await next;
    expect(began).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test('the time limit includes the wait for a slot', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const runScan = createScans({ ...SLOTS, concurrency: 1 });
    runScan(turnOf('one'), never).catch(() => undefined);
    let began = false;
    const waiting = runScan(turnOf('other'), async () => {
      began = true;
    });
    const refused = expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
    vi.advanceTimersByTime(10_000);
    await refused;
    expect(began).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

test('a scan of a disconnected caller is removed from the queue, or aborted if it runs', async () => {
  const runScan = createScans({ ...SLOTS, concurrency: 1 });
  const left = new ServiceError('request_timeout', 'gone');
  const controllers = [new AbortController(), new AbortController()] as const;
  let seen: AbortSignal | undefined;
  let later = false;
  const first = runScan(turnOf('one', controllers[0].signal), (signal) => {
    seen = signal;
    return never();
  });
  const second = runScan(turnOf('two', controllers[1].signal), async () => {
    later = true;
  });
  for (const controller of controllers) controller.abort(left);
  await expect(first).rejects.toBe(left);
  await expect(second).rejects.toBe(left);
  expect(seen?.reason).toBe(left);
  expect(later).toBe(false);
  await expect(runScan(turnOf('one', controllers[0].signal), never)).rejects.toBe(left);
});
