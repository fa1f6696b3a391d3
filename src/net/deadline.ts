import { NetError } from './faults.ts';

/** A time limit that several steps share. */
export interface Deadline {
  /** The length of the whole limit, for messages. */
  readonly seconds: number;
  /** Aborts when the deadline passes. */
  readonly signal: AbortSignal;
}

/** Returns a deadline that starts now. */
export function deadlineAfter(seconds: number): Deadline {
  return { seconds, signal: AbortSignal.timeout(seconds * 1000) };
}

/** Returns the error for a deadline that has passed. */
export function tooLate({ seconds }: Deadline): NetError {
  return new NetError({ reason: `no response within ${seconds} seconds` });
}

/**
 * Waits for `work` until the deadline, and throws what `work` throws. Throws `NetError` when the
 * deadline passes; `work` then continues.
 */
export function within<T>(deadline: Deadline, work: Promise<T>): Promise<T> {
  const { signal } = deadline;
  return new Promise((resolve, reject) => {
    const stop = () => reject(tooLate(deadline));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
