import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createClock } from '../src/clock.ts';

/** Returns a clock on a machine whose time the test sets. */
function machine(start: string) {
  let wall = Date.parse(start);
  let monotonic = 5_000;
  const followed: string[][] = [];
  const clock = createClock(
    () => Math.floor(wall),
    () => monotonic,
    (reached, now) => followed.push([reached, now]),
  );
  return {
    clock,
    /**
     * The reported steps back. Each has the clock's time before the step and the machine's time
     * after the step.
     */
    followed,
    /** Returns the system time in milliseconds since 1970. */
    system: () => Math.floor(wall),
    /** Advances the system clock and the monotonic clock. */
    pass: (milliseconds: number) => {
      wall += milliseconds;
      monotonic += milliseconds;
    },
    /** Moves the system clock by this number of milliseconds. */
    set: (milliseconds: number) => void (wall += milliseconds),
  };
}

test('returns the system time with microseconds', () => {
  const { clock, pass } = machine('2030-01-31T12:00:00.000Z');
  expect(clock()).toBe('2030-01-31T12:00:00.000000');
  pass(0.25);
  expect(clock()).toBe('2030-01-31T12:00:00.000250');
  pass(1000);
  expect(clock()).toBe('2030-01-31T12:00:01.000250');
});

test('advances by microseconds while the system clock is up to two seconds behind', () => {
  const { clock, set, pass, followed } = machine('2030-01-31T12:00:00.000Z');
  clock();
  set(-1900);
  expect([clock(), clock()]).toEqual(['2030-01-31T12:00:00.000001', '2030-01-31T12:00:00.000002']);
  pass(2900);
  expect(clock()).toBe('2030-01-31T12:00:01.000000');
  expect(followed).toEqual([]);
});

test('goes back with the system clock after a step of two hours, and reports both times once', () => {
  const { clock, set, pass, followed } = machine('2030-01-31T12:00:00.000Z');
  clock();
  set(7_200_000);
  expect(clock()).toBe('2030-01-31T14:00:00.000000');
  set(-7_200_000);
  expect([clock(), clock()]).toEqual(['2030-01-31T12:00:00.000000', '2030-01-31T12:00:00.000001']);
  pass(1000);
  expect(clock()).toBe('2030-01-31T12:00:01.000000');
  expect(followed).toEqual([['2030-01-31T14:00:00.000000', '2030-01-31T12:00:00.000000']]);
});

test('timestamps increase, except at a reported step back, and are within two seconds of the system clock', () => {
  const step = fc.tuple(
    fc.constantFrom('pass', 'set'),
    fc.double({ min: -5000, max: 5000, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const { clock, pass, set, system, followed } = machine('2030-12-31T23:59:59.990Z');
      let last = clock();
      for (const [what, milliseconds] of steps) {
        const back = followed.length;
        if (what === 'pass') pass(Math.abs(milliseconds));
        else set(milliseconds);
        const timestamp = clock();
        expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
        expect(timestamp > last).toBe(followed.length === back);
        expect(Math.abs(Date.parse(`${timestamp}Z`) - system())).toBeLessThanOrEqual(
          timestamp > last ? 2010 : 10,
        );
        last = timestamp;
      }
    }),
  );
});

test('stays within 3 ms of a steady system clock', () => {
  const { clock, pass } = machine('2030-01-31T12:00:00.000Z');
  for (let index = 0; index < 1000; index += 1) {
    pass(7.3);
    const late =
      Date.parse(`${clock()}Z`) - Date.parse('2030-01-31T12:00:00.000Z') - 7.3 * (index + 1);
    expect(Math.abs(late)).toBeLessThan(3);
  }
});
