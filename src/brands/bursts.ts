import { setTimeout as pause } from 'node:timers/promises';

/** A burst begins with this many changes in this time. */
const FIRST = { changes: 4, ms: 10 };

/** A burst continues with this many changes in this time. One commit may take up to 100 ms. */
const NEXT = { changes: 20, ms: 100 };

const MAX_DELAY_MS = 1000;

/**
 * Delays a pass until the burst of changes for its name server ends, which saves CPU time for
 * requests: a pass takes about as much for one new key as for 1000. Resolves after 10 ms if no
 * burst has begun, at the latest after 1 s, and once `isStopping` returns true. Throws what
 * `countChanges` throws. `milliseconds` is a monotonic clock.
 */
export async function untilCalm(
  countChanges: () => Promise<number>,
  isStopping: () => boolean,
  milliseconds = () => performance.now(),
): Promise<void> {
  const end = milliseconds() + MAX_DELAY_MS;
  let step = FIRST;
  for (let before = await countChanges(); ; step = NEXT) {
    await pause(step.ms);
    if (isStopping() || milliseconds() >= end) return;
    const count = await countChanges();
    if (count - before < step.changes) return;
    before = count;
  }
}
