import { fork } from 'node:child_process';
import { once } from 'node:events';

/**
 * The result of one job. Without a response in time, it has no latencies.
 *
 * @typedef {{ requests: number, seconds: number, p50?: number, p99?: number, wrong: number, firstWrong?: string }} LoadResult
 */

/**
 * Starts the process that generates load.
 *
 * `send` runs one job, `{ url, headers, traffic, args, connections, seconds | amount, rate }`, and
 * returns its `LoadResult`. `send` throws if a response was wrong.
 */
export function startLoad() {
  const child = fork(new URL('load-process.mjs', import.meta.url), { stdio: 'inherit' });
  return {
    /** @returns {Promise<LoadResult>} */
    async send(job) {
      const ended = new AbortController();
      const exited = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`The process that generates load exited with code ${code}`);
      });
      child.send(job);
      const [result] = await Promise.race([once(child, 'message'), exited]).finally(() => {
        exited.catch(() => undefined);
        ended.abort();
      });
      if (result.wrong > 0)
        throw new Error(
          `${result.wrong} of ${result.requests} responses were wrong, for example ${result.firstWrong}`,
        );
      return result;
    },
    stop: () => child.disconnect(),
  };
}
