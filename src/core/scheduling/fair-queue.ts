import { asError, ServiceError } from '../errors.ts';

/** The limits of a fair queue. A job uses one slot, unless the call of `run` requests more. */
interface FairQueueOptions {
  readonly concurrency: number;
  /** The slots that one owner may use. Below `concurrency`, one owner cannot use every slot. */
  readonly concurrencyPerOwner: number;
  /** The maximum number of waiting jobs of one owner. The queue rejects further jobs. */
  readonly maxWaitingPerOwner: number;
  readonly maxWaiting: number;
}

export interface FairQueue {
  /**
   * Runs `work` when `slots` are free for `owner`, and returns the result of `work`. A job that
   * requests more slots than an owner may use waits for that maximum. Rejects with the error of
   * `work`, and with `unavailable` if too many jobs wait. If `signal` aborts before the job begins,
   * rejects with the reason of the signal.
   */
  run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal, slots?: number): Promise<T>;
}

const RETRY_AFTER_SECONDS = 1;

export function busy(): ServiceError {
  const message = 'The service is busy with other requests. Try again later.';
  return new ServiceError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

interface Waiting {
  readonly slots: number;
  readonly begin: () => void;
}

interface Share {
  used: number;
  /** The turn in which the owner's last job began. 0 if no job has begun. */
  servedLast: number;
  readonly waiting: Set<Waiting>;
}

/**
 * Creates a queue that serves owners in rotation. However many jobs one owner queues, the first job
 * of another owner runs next. Jobs of one owner run in the order of arrival. No job overtakes
 * another owner's job that waits for more slots.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { concurrency, concurrencyPerOwner, maxWaitingPerOwner, maxWaiting } = options;
  const shares = new Map<string, Share>();
  let used = 0;
  let waiting = 0;
  let turn = 0;

  const start = (share: Share, slots: number) => {
    share.used += slots;
    share.servedLast = turn += 1;
    used += slots;
  };

  /** The first job of the owner served least recently, among owners below their limit. */
  const nextWaiting = () => {
    let next: Share | undefined;
    let first: Waiting | undefined;
    for (const share of shares.values()) {
      const [head] = share.waiting;
      if (
        head === undefined ||
        share.used + head.slots > concurrencyPerOwner ||
        share.servedLast >= (next?.servedLast ?? Infinity)
      )
        continue;
      next = share;
      first = head;
    }
    return first;
  };

  const mayStart = (share: Share, slots: number) =>
    share.waiting.size === 0 &&
    share.used + slots <= concurrencyPerOwner &&
    used + slots <= concurrency &&
    (waiting === 0 || nextWaiting() === undefined);

  const serveNext = () => {
    for (
      let next = nextWaiting();
      next !== undefined && used + next.slots <= concurrency;
      next = nextWaiting()
    )
      next.begin();
  };

  const wait = (share: Share, slots: number, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        share.waiting.delete(job);
        waiting -= 1;
        signal?.removeEventListener('abort', abort);
      };
      const begin = () => {
        leave();
        start(share, slots);
        resolve();
      };
      const abort = () => {
        leave();
        reject(asError(signal?.reason));
        serveNext(); // the aborted job may have blocked other jobs, because it requested more slots
      };
      const job = { slots, begin };
      signal?.addEventListener('abort', abort);
      share.waiting.add(job);
      waiting += 1;
    });

  const forget = (owner: string, share: Share) => {
    if (share.used === 0 && share.waiting.size === 0) shares.delete(owner);
  };

  return {
    async run(owner, work, signal, wanted = 1) {
      signal?.throwIfAborted();
      const slots = Math.min(wanted, concurrencyPerOwner);
      const share = shares.get(owner) ?? { used: 0, servedLast: 0, waiting: new Set() };
      shares.set(owner, share);
      try {
        if (mayStart(share, slots)) {
          start(share, slots);
        } else {
          if (share.waiting.size >= maxWaitingPerOwner || waiting >= maxWaiting) {
            throw busy();
          }
          await wait(share, slots, signal);
        }
      } catch (error) {
        forget(owner, share);
        throw error;
      }
      try {
        return await work();
      } finally {
        share.used -= slots;
        used -= slots;
        serveNext();
        forget(owner, share);
      }
    },
  };
}
