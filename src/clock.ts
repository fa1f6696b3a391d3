import { performance } from 'node:perf_hooks';
import type { Clock } from './core/ports.ts';

/**
 * The maximum difference between this clock and the system clock, in microseconds. After a larger
 * difference, this clock restarts from the system clock.
 */
const TOLERANCE = 2000;

/**
 * How far this clock may be ahead of a system clock that was set back, in microseconds. Two seconds
 * cover a leap second and the usual steps of an NTP daemon. After these steps, timestamps still
 * increase. After a larger step, this clock follows the system clock.
 */
const MAX_AHEAD = 2_000_000;

/**
 * Returns a clock with a resolution of one microsecond: it adds monotonic time to one value of the
 * system clock, which has milliseconds. The time increases with each call, except that it follows a
 * system clock that was set back by more than two seconds. It then calls `followed` with the last
 * time before and the first time after the step. `wall` and `monotonic` are in milliseconds.
 */
export function createClock(
  wall: () => number = () => Date.now(),
  monotonic: () => number = () => performance.now(),
  followed: (reached: string, now: string) => void = () => undefined,
): Clock {
  let origin = 0;
  let last = 0;
  const timestamp = createFormat();
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

/**
 * Returns a function that formats a time in microseconds. It formats the same second only once,
 * because this takes longer than the rest of a change's clock.
 */
function createFormat(): (microseconds: number) => string {
  let second = NaN;
  let text = '';
  return (microseconds) => {
    const next = Math.floor(microseconds / 1_000_000);
    if (next !== second) {
      second = next;
      text = new Date(second * 1000).toISOString().slice(0, 19);
    }
    return `${text}.${String(microseconds % 1_000_000).padStart(6, '0')}`;
  };
}
