import { performance } from 'node:perf_hooks';
import type { Clock } from './domain/ports.ts';

/** How far the system's clock may be from the count before the count starts anew, in microseconds. */
const TOLERANCE = 2000;

/**
 * A clock with microseconds that never repeats or goes back. It counts monotonic time from a reading of the system's clock,
 * which has milliseconds only, and reads it again whenever that clock was set. `wall` and `monotonic` are in milliseconds.
 */
export function createClock(wall: () => number = Date.now, monotonic: () => number = () => performance.now()): Clock {
  let origin = 0;
  let last = 0;
  return () => {
    const ticks = Math.round(monotonic() * 1000);
    const system = wall() * 1000;
    if (Math.abs(origin + ticks - system) > TOLERANCE) origin = system - ticks;
    last = Math.max(last + 1, origin + ticks);
    const fraction = String(last % 1_000_000).padStart(6, '0');
    return `${new Date(Math.floor(last / 1000)).toISOString().slice(0, 19)}.${fraction}`;
  };
}
