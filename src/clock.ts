import { performance } from 'node:perf_hooks';
import type { Clock } from './domain/model/ports.ts';

/** How far the system's clock may be from the count before the count starts anew, in microseconds. */
const TOLERANCE = 2000;

/**
 * How far the clock may be ahead of the system's after that was set back, in microseconds. Two seconds cover a repeated leap second and the
 * usual steps of an NTP daemon, so timestamps go on growing through those. The clock does not stay hours ahead.
 */
const MAX_AHEAD = 2_000_000;

/**
 * Returns a clock with microseconds, whose time grows with each call. It counts monotonic time from a reading of the system's clock, which
 * has milliseconds only, and reads that again whenever it was set. The time goes back only when the system's clock was set back by more than
 * two seconds. The clock then calls `followed` with the time that it had reached and the time that it goes back to. `wall` and `monotonic` are
 * in milliseconds.
 */
export function createClock(
  wall: () => number = () => Date.now(),
  monotonic: () => number = () => performance.now(),
  followed: (reached: string, now: string) => void = () => undefined,
): Clock {
  let origin = 0;
  let last = 0;
  return () => {
    const ticks = Math.round(monotonic() * 1000);
    const system = wall() * 1000;
    if (Math.abs(origin + ticks - system) > TOLERANCE) origin = system - ticks;
    const now = origin + ticks;
    if (last - now > MAX_AHEAD) {
      followed(timestamp(last), timestamp(now));
      last = now;
    } else {
      last = Math.max(last + 1, now);
    }
    return timestamp(last);
  };
}

/** The system's time in the form of the API. Unlike a clock of `createClock` it may repeat and go back. */
export function systemTime(): string {
  return timestamp(Date.now() * 1000);
}

function timestamp(microseconds: number): string {
  const fraction = String(microseconds % 1_000_000).padStart(6, '0');
  return `${new Date(Math.floor(microseconds / 1000)).toISOString().slice(0, 19)}.${fraction}`;
}
