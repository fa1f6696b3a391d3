import { asError } from '../../core/errors.ts';

/** The maximum age of a batch when a further response is added, in milliseconds. */
const MAX_AGE_MS = 1;

interface Batches {
  /** Returns the time of a monotonic clock in milliseconds. */
  now(): number;
  /** Calls `work` at the end of the turn of the event loop, like `setImmediate`. */
  later(work: () => void): void;
}

/** Sends a response with `send`. Calls `fail` if `send` throws. */
type SendInBatch = (send: () => void, fail: (error: Error) => void) => void;

/**
 * Returns a function that sends the first response of a turn of the event loop at once, and further
 * responses of the turn together and in order. In a long turn, it sends them about every
 * millisecond. The kernel often has to wake the client's process for a response that is sent alone,
 * and this costs more than all other steps of sending. A batch wakes the process once.
 */
export function createResponseBatches({ now, later }: Batches): SendInBatch {
  let batch: (() => void)[] = [];
  let isFirst = true;
  let began = 0;
  const sendAll = () => {
    const responses = batch;
    batch = [];
    began = now();
    for (const send of responses) send();
  };
  const endTurn = () => {
    isFirst = true;
    sendAll();
  };
  return (send, fail) => {
    batch.push(() => {
      try {
        send();
      } catch (error) {
        fail(asError(error));
      }
    });
    if (isFirst) later(endTurn);
    if (isFirst || now() - began >= MAX_AGE_MS) sendAll();
    isFirst = false;
  };
}
