/**
 * Shares runs of `work`: a caller that arrives while a run is in progress gets the result of that run. Rejects with what
 * `work` throws; the next call after that runs `work` again.
 */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let flight: Promise<T> | undefined;
  return () => (flight ??= work().finally(() => (flight = undefined)));
}

/**
 * Shares results of `work`: a result counts for `maxAgeSeconds` from the start of its run, and concurrent callers share one run.
 * An error is not cached. `seconds` is a monotonic clock.
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
