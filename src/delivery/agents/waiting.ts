import { untilCalm } from '../../brands/bursts.ts';

/** How often waiting calls query for work if no notification arrives. */
const POLL_MS = 1000;

/** The time limit of the last query of a waiting call. */
const LAST_MS = 1000;

export interface WaitingDependencies {
  /** Returns which of these name servers have work. */
  due(ids: readonly string[]): Promise<string[]>;
  countChanges(id: string): Promise<number>;
  /** Calls `wake` after changes. Returns a function that stops these calls. */
  listen(wake: () => void): () => Promise<void>;
  failed(error: unknown): void;
}

export interface Waiting {
  /**
   * Resolves to true once the name server has work. Resolves to false after `ms` or when the signal
   * aborts. A later call for the same name server ends the earlier call, whose agent has
   * disconnected.
   */
  wait(id: string, ms: number, signal: AbortSignal): Promise<boolean>;
  /** Resolves all waiting calls to false. Later calls do not wait. */
  close(): Promise<void>;
}

/** A change costs one query, however many calls wait. */
export function waitForWork({ due, countChanges, listen, failed }: WaitingDependencies): Waiting {
  const waiters = new Map<string, (hasWork: boolean) => void>();
  let stopListening: (() => Promise<void>) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isRequested = false;
  let looking: Promise<void> | undefined;
  let hasFailed = false;
  /** The name servers whose work waits for the end of a burst. */
  const delayed = new Set<string>();
  let isClosed = false;

  const look = async (): Promise<void> => {
    while (isRequested && waiters.size > 0) {
      isRequested = false;
      try {
        const ids = [...waiters.keys()].filter((id) => !delayed.has(id));
        for (const id of await due(ids)) void endWhenCalm(id);
        hasFailed = false;
      } catch (error) {
        // Report only once, not at every poll while the database does not respond.
        if (!hasFailed) failed(error);
        hasFailed = true;
      }
    }
    looking = undefined;
  };
  const endWhenCalm = async (id: string): Promise<void> => {
    delayed.add(id);
    const isEnded = () => !waiters.has(id);
    await untilCalm(() => countChanges(id), isEnded).catch(() => undefined); // `due` reports errors
    delayed.delete(id);
    waiters.get(id)?.(true);
  };
  const wake = (): void => {
    if (waiters.size === 0) return;
    isRequested = true;
    looking ??= look();
  };

  return {
    wait(id, ms, signal) {
      if (isClosed || signal.aborted) return Promise.resolve(false);
      stopListening ??= listen(wake);
      timer ??= setInterval(wake, POLL_MS).unref();
      return new Promise((resolve) => {
        const end = (hasWork: boolean) => {
          clearTimeout(deadline);
          signal.removeEventListener('abort', abort);
          if (waiters.get(id) === end) waiters.delete(id);
          resolve(hasWork);
        };
        const abort = () => end(false);
        // `look` may not have found the work yet, or may wait for the end of a burst.
        const last = () => {
          setTimeout(abort, LAST_MS).unref(); // the database may not respond
          due([id]).then((found) => end(found.length > 0), abort);
        };
        const deadline = setTimeout(last, ms);
        signal.addEventListener('abort', abort);
        waiters.get(id)?.(false);
        waiters.set(id, end);
        wake();
      });
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      for (const end of [...waiters.values()]) end(false);
      await looking;
      await stopListening?.();
    },
  };
}
