import { setMaxListeners } from 'node:events';
import { NetError } from './faults.ts';

/** A time limit that several steps share. */
export interface Deadline {
  /** The length of the time limit, for messages. */
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** Returns a deadline that starts now. The deadline also passes when one of `signals` aborts. */
export function deadlineAfter(seconds: number, ...signals: readonly AbortSignal[]): Deadline {
  return { seconds, signal: signalWithin(seconds * 1000, ...signals) };
}

/**
 * Returns a signal that aborts after `ms` milliseconds with a `TimeoutError`. The signal also
 * aborts when one of `signals` aborts, with the same reason. Does not use `AbortSignal.any`,
 * because Node.js may garbage-collect a timeout signal that is part of the result. In this case,
 * the time limit never passes.
 */
export function signalWithin(ms: number, ...signals: readonly AbortSignal[]): AbortSignal {
  const ending = new AbortController();
  const { signal } = ending;
  setMaxListeners(0, signal, ...signals); // many requests may share a signal
  const timer = setTimeout(() => {
    ending.abort(new DOMException('The time limit has passed', 'TimeoutError'));
  }, ms);
  timer.unref(); // the timer also keeps the controller in memory
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  for (const source of signals) {
    const abort = () => ending.abort(source.reason);
    if (source.aborted) abort();
    else source.addEventListener('abort', abort, { once: true, signal });
  }
  return signal;
}

function tooLate({ seconds }: Deadline): NetError {
  return new NetError(`no response within ${seconds} seconds`);
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
