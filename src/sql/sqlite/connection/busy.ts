import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { isBusy, translate } from './sqlite-faults.ts';

/** The time limit for acquiring a lock that another program holds on the database. */
export const LOCK_WAIT_MS = 5000;

const PAUSE_MS = 5;

/** The pause is random, so that two programs do not try again at the same time. */
export function pauseForLock(): Promise<void> {
  return pause(PAUSE_MS * (0.5 + Math.random()));
}

/**
 * Runs `work`. Repeats it for at most `LOCK_WAIT_MS` while another program holds a lock that `work`
 * needs. Other requests run between the attempts; SQLite's busy timeout would block the event loop.
 * Throws the last error of `work`.
 */
export async function retryWhileBusy<T>(work: () => T): Promise<T> {
  const until = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw error;
    }
    await pauseForLock();
  }
}

/**
 * Returns a function that runs `work` on the database at `path`. If another program holds a lock,
 * the function repeats `work` as `retryWhileBusy` does. The function throws `unavailable` for a
 * fault of the machine, and any other error unchanged.
 */
export function retrying(path: string): <T>(work: () => T) => T | Promise<T> {
  return (work) => {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw translate(error, path);
      return retryWhileBusy(work).catch((last: unknown) => {
        throw translate(last, path);
      });
    }
  };
}
