import { asError } from '../../domain/model/errors.ts';

/** The maximum time that further requests may delay a finished response, in milliseconds. */
const MAX_DELAY_MS = 1;

/** The dependencies of response batches. */
export interface Batches {
  /** Returns the time of a monotonic clock in milliseconds. */
  now(): number;
  /** Calls `work` at the end of the turn of the event loop, like `setImmediate`. */
  later(work: () => void): void;
}

/** Sends a response with `send`. Calls `fail` if `send` throws. */
export type SendInBatch = (send: () => void, fail: (error: Error) => void) => void;

/**
 * Returns a function that sends the responses of one turn of the event loop together, in order. If
 * the turn is long, it sends them every millisecond. When a response is sent alone, the kernel
 * often has to wake the client's process, and that costs more than the rest of sending. A batch
 * wakes the process once.
 */
export function createResponseBatches({ now, later }: Batches): SendInBatch {
  let batch: (() => void)[] = [];
  let began = 0;
  const sendAll = () => {
    const responses = batch;
    batch = [];
    for (const send of responses) send();
  };
  return (send, fail) => {
    if (batch.length === 0) {
      began = now();
      later(sendAll);
    }
    batch.push(() => {
      try {
        send();
      } catch (error) {
        fail(asError(error));
      }
    });
    if (now() - began >= MAX_DELAY_MS) sendAll();
  };
}
