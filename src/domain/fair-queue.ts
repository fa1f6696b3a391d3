import { ServiceError } from './errors.ts';

/** How a fair queue shares its slots. */
export interface FairQueueOptions {
  /** How many jobs run at once, of all owners together. */
  readonly concurrency: number;
  /** How many jobs of one owner run at once. Keep it below `concurrency`, so that one owner cannot take every slot. */
  readonly concurrencyPerOwner: number;
  /** How many jobs of one owner may wait; further ones are refused. */
  readonly maxWaitingPerOwner: number;
  /** How many jobs may wait, of all owners together; further ones are refused. */
  readonly maxWaiting: number;
}

/** Runs jobs under a limit that their owners share. */
export interface FairQueue {
  /**
   * Runs `work` when a slot is free for `owner`, and returns what it returns. Rejects with what `work` throws, with
   * `unavailable` when too many jobs wait, and with the signal's reason when `signal` aborts before the job began.
   */
  run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** How many jobs wait for a slot. */
  readonly waiting: number;
}

/** How long a refused caller should wait before it tries again, in seconds. */
const RETRY_AFTER_SECONDS = 1;

/** The jobs of one owner. */
interface Share {
  running: number;
  /** The turn in which its last job began; 0 for none. */
  servedLast: number;
  readonly waiting: Set<() => void>;
}

/**
 * A queue that serves owners in turn: however many jobs one owner queues, the first job of another owner is the next
 * to run. Jobs of one owner run in the order in which they arrived.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { concurrency, concurrencyPerOwner, maxWaitingPerOwner, maxWaiting } = options;
  const shares = new Map<string, Share>();
  let running = 0;
  let waiting = 0;
  let turn = 0;

  const mayRun = (share: Share) => running < concurrency && share.running < concurrencyPerOwner;

  const start = (share: Share) => {
    share.running += 1;
    share.servedLast = turn += 1;
    running += 1;
  };

  /** The share whose turn is next: of those that may run a job, the one that was served least recently. */
  const nextShare = () => {
    let next: Share | undefined;
    for (const share of shares.values()) {
      if (share.waiting.size > 0 && mayRun(share) && share.servedLast < (next?.servedLast ?? Infinity)) next = share;
    }
    return next;
  };

  const serveNext = () => {
    for (let share = nextShare(); share !== undefined; share = nextShare()) {
      const [begin] = share.waiting;
      begin?.();
    }
  };

  const wait = (share: Share, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        share.waiting.delete(begin);
        waiting -= 1;
        signal?.removeEventListener('abort', abort);
      };
      const begin = () => {
        leave();
        start(share);
        resolve();
      };
      const abort = () => {
        leave();
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abort);
      share.waiting.add(begin);
      waiting += 1;
    });

  return {
    async run(owner, work, signal) {
      signal?.throwIfAborted();
      const share = shares.get(owner) ?? { running: 0, servedLast: 0, waiting: new Set() };
      shares.set(owner, share);
      if (share.waiting.size === 0 && mayRun(share)) {
        start(share);
      } else {
        if (share.waiting.size >= maxWaitingPerOwner || waiting >= maxWaiting) {
          throw new ServiceError('unavailable', 'The service is busy with other requests. Try again later.', {
            retryAfterSeconds: RETRY_AFTER_SECONDS,
          });
        }
        await wait(share, signal);
      }
      try {
        return await work();
      } finally {
        share.running -= 1;
        running -= 1;
        serveNext();
        if (share.running === 0 && share.waiting.size === 0) shares.delete(owner);
      }
    },
    get waiting() {
      return waiting;
    },
  };
}
