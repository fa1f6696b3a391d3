import { ServiceError } from '../model/errors.ts';

/** How a fair queue shares its slots. A job takes one slot, or as many as its `run` says. */
export interface FairQueueOptions {
  /** How many slots there are, for all owners together. */
  readonly concurrency: number;
  /** How many slots the jobs of one owner take at once. Keep it below `concurrency`, so that one owner cannot take every slot. */
  readonly concurrencyPerOwner: number;
  /** How many jobs of one owner may wait; further ones are refused. */
  readonly maxWaitingPerOwner: number;
  /** How many jobs may wait, of all owners together; further ones are refused. */
  readonly maxWaiting: number;
}

/** Runs jobs under a limit that their owners share. */
export interface FairQueue {
  /**
   * Runs `work` when `slots` are free for `owner`, and returns what it returns. A job that wants more slots than an owner may take
   * waits for as many as that. Rejects with what `work` throws, with `unavailable` when too many jobs wait, and with the signal's
   * reason when `signal` aborts before the job began.
   */
  run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal, slots?: number): Promise<T>;
  /** How many jobs wait for a slot. */
  readonly waiting: number;
}

/** How long a refused caller should wait before it tries again, in seconds. */
const RETRY_AFTER_SECONDS = 1;

/** A job that waits. */
interface Waiting {
  readonly slots: number;
  readonly begin: () => void;
}

/** The jobs of one owner. */
interface Share {
  /** How many slots its running jobs take. */
  taken: number;
  /** The turn in which its last job began; 0 for none. */
  servedLast: number;
  readonly waiting: Set<Waiting>;
}

/**
 * A queue that serves owners in turn: however many jobs one owner queues, the first job of another owner is the next
 * to run. Jobs of one owner run in the order in which they arrived. No job overtakes one of another owner that waits for more slots.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { concurrency, concurrencyPerOwner, maxWaitingPerOwner, maxWaiting } = options;
  const shares = new Map<string, Share>();
  let taken = 0;
  let waiting = 0;
  let turn = 0;

  const start = (share: Share, slots: number) => {
    share.taken += slots;
    share.servedLast = turn += 1;
    taken += slots;
  };

  /** The job whose turn is next: the first of the owner that was served least recently, of those with slots left in their share. */
  const nextWaiting = () => {
    let next: Share | undefined;
    let first: Waiting | undefined;
    for (const share of shares.values()) {
      const [head] = share.waiting;
      if (
        head === undefined ||
        share.taken + head.slots > concurrencyPerOwner ||
        share.servedLast >= (next?.servedLast ?? Infinity)
      )
        continue;
      next = share;
      first = head;
    }
    return first;
  };

  /** Whether a job that arrives may run at once: there are slots for it, and no job is due before it. */
  const mayStart = (share: Share, slots: number) =>
    share.waiting.size === 0 &&
    share.taken + slots <= concurrencyPerOwner &&
    taken + slots <= concurrency &&
    (waiting === 0 || nextWaiting() === undefined);

  const serveNext = () => {
    for (
      let next = nextWaiting();
      next !== undefined && taken + next.slots <= concurrency;
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
        reject(signal?.reason as Error);
        serveNext(); // it may have held up others for slots that it wanted
      };
      const job = { slots, begin };
      signal?.addEventListener('abort', abort);
      share.waiting.add(job);
      waiting += 1;
    });

  const forget = (owner: string, share: Share) => {
    if (share.taken === 0 && share.waiting.size === 0) shares.delete(owner);
  };

  return {
    async run(owner, work, signal, wanted = 1) {
      signal?.throwIfAborted();
      const slots = Math.min(wanted, concurrencyPerOwner);
      const share = shares.get(owner) ?? { taken: 0, servedLast: 0, waiting: new Set() };
      shares.set(owner, share);
      try {
        if (mayStart(share, slots)) {
          start(share, slots);
        } else {
          if (share.waiting.size >= maxWaitingPerOwner || waiting >= maxWaiting) {
            throw new ServiceError(
              'unavailable',
              'The service is busy with other requests. Try again later.',
              {
                retryAfterSeconds: RETRY_AFTER_SECONDS,
              },
            );
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
        share.taken -= slots;
        taken -= slots;
        serveNext();
        forget(owner, share);
      }
    },
    get waiting() {
      return waiting;
    },
  };
}
