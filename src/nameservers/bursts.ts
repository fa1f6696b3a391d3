import { setTimeout as pause } from 'node:timers/promises';

/** A burst begins with this many changes in a short time. */
const FIRST = { changes: 4, ms: 10 };

/**
 * A burst continues while this many changes arrive in this time. One commit may take up to 100 ms.
 */
const NEXT = { changes: 20, ms: 100 };

/** The longest time that a burst delays the delivery. */
const MAX_DELAY_MS = 3000;

/** A counter of changes, which delays the delivery of keys during a burst. */
export interface Bursts {
  /** Counts a change. */
  changed(): void;
  /**
   * Resolves after 10 ms if no burst begins. Otherwise resolves when fewer than 200 changes per
   * second arrive, and after 3 s at the latest. Also resolves when the signal aborts.
   */
  quiet(signal: AbortSignal): Promise<void>;
}

/**
 * Creates a counter of changes. A pass takes about as much CPU time for one new key as for 1000. It
 * therefore waits for the end of a burst, so that requests can use the CPU.
 */
export function newBursts(): Bursts {
  let count = 0;
  return {
    changed() {
      count += 1;
    },
    async quiet(signal) {
      const began = performance.now();
      let step = FIRST;
      let before: number;
      do {
        before = count;
        await pause(step.ms, undefined, { signal }).catch(() => undefined);
        if (count - before < step.changes) return;
        step = NEXT;
      } while (performance.now() - began < MAX_DELAY_MS && !signal.aborted);
    },
  };
}
