import { asError, ServiceError } from '../core/errors.ts';
import { createFairQueue } from '../core/scheduling/fair-queue.ts';
import type { Turn } from '../core/ports.ts';
import type { ScanSlots } from './sql.ts';

/**
 * The maximum number of waiting scans, for one caller and in total. Each waiting scan belongs to an
 * open request.
 */
const MAX_WAITING_PER_OWNER = 50;
const MAX_WAITING = 500;

const RETRY_AFTER_SECONDS = 5;

/**
 * A function that runs `work` when it is the caller's turn. The function throws `unavailable` if
 * `work` exceeds the time limit, or if too many scans wait.
 */
type RunScan = <T>(turn: Turn, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/**
 * Shares the scan slots of one database fairly among callers. The time limit includes the wait for
 * a slot. The signal that `work` receives aborts when the time limit passes or the caller
 * disconnects.
 */
export function createScans({ timeoutSeconds, ...slots }: ScanSlots): RunScan {
  const queue = createFairQueue({
    ...slots,
    maxWaitingPerOwner: MAX_WAITING_PER_OWNER,
    maxWaiting: MAX_WAITING,
  });
  return async (turn, work) => {
    const controller = new AbortController();
    const { signal } = controller;
    const caller = turn.signal();
    const leave = () => controller.abort(caller?.reason);
    if (caller?.aborted === true) leave();
    caller?.addEventListener('abort', leave);
    const timer = setTimeout(
      () => controller.abort(tooSlow(timeoutSeconds)),
      timeoutSeconds * 1000,
    );
    try {
      // The caller gets the error when the time limit passes. The slot stays occupied until `work`
      // ends.
      return await Promise.race([
        queue.run(turn.owner, () => work(signal), signal),
        rejectionOf(signal),
      ]);
    } finally {
      clearTimeout(timer);
      caller?.removeEventListener('abort', leave);
    }
  };
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(asError(signal.reason)));
  });
}

function tooSlow(timeoutSeconds: number): ServiceError {
  return new ServiceError(
    'unavailable',
    `The list took longer than ${timeoutSeconds} s. Filter by an exact name, or omit patterns, other filters and sort keys.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
