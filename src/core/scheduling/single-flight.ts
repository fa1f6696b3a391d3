/**
 * A caller that arrives during a run gets the result of that run. The next call after an error runs
 * `work` again.
 */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let flight: Promise<T> | undefined;
  return () => (flight ??= work().finally(() => (flight = undefined)));
}

/**
 * Returns a function that caches results of `work` for `maxAgeSeconds` from the start of the run.
 * Concurrent callers share one run. Does not cache errors. `seconds` is a monotonic clock.
 */
export function cachedFlight<T>(
  maxAgeSeconds: number,
  seconds: () => number,
  work: () => Promise<T>,
): () => Promise<T> {
  let latest: { readonly result: T; readonly until: number } | undefined;
  const run = singleFlight(async () => {
    const until = seconds() + maxAgeSeconds;
    const result = await work();
    latest = { result, until };
    return result;
  });
  return async () => (latest !== undefined && seconds() < latest.until ? latest.result : run());
}
