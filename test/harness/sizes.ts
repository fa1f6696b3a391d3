/**
 * Tests that could run for any length of time have two sizes. `npm test` uses the short sizes, and
 * `npm run test:night` sets TEST_LONG=1 and uses the long sizes. A short test checks the same
 * guarantee with fewer attempts.
 */

/** Whether this run uses the long sizes. */
export const IS_LONG = process.env.TEST_LONG === '1';

/**
 * Returns the size of a test in this run: a number of requests or kills, or a list of cases, that
 * determines how long the test takes.
 */
export function sized<Size>(short: Size, long: Size): Size {
  return IS_LONG ? long : short;
}

/**
 * Returns how many random cases a property test tries in this run. `long` is the number in a long
 * run. A short run, and the repetition on PostgreSQL, try a fifth.
 */
export function randomCases(long: number): number {
  const short = Math.ceil(long / 5);
  return process.env.TEST_DATABASE === 'postgres' ? short : sized(short, long);
}
