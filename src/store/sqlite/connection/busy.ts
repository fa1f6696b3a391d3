import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { isBusy, translate } from './faults.ts';

/** How long the service waits for a lock that another program holds on the database. */
export const LOCK_WAIT_MS = 5000;

/** The mean pause between two attempts to get a lock. */
const PAUSE_MS = 5;

/** Waits before the next attempt to get a lock. The length is random, so that two programs that collide once do not collide again. */
export function pauseForLock(): Promise<void> {
  return pause(PAUSE_MS * (0.5 + Math.random()));
}

/**
 * Runs `work`, and runs it again for at most `LOCK_WAIT_MS` while another program holds a lock that it needs. The event loop
 * serves other requests between the attempts; SQLite's own busy timeout would block it. Throws what `work` throws.
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
 * Returns a function that runs `work` on the database at `path`, at once if no other program holds a lock that it needs, and otherwise
 * as `retryWhileBusy` does. It throws `unavailable` for a fault of the machine and everything else unchanged.
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
