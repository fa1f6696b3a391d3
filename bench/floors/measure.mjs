import { resourceUsage } from 'node:process';

/**
 * Repeats `work` for `seconds`. Returns the number of repetitions, the time in seconds, and the CPU
 * time in microseconds.
 */
export async function repeatFor(seconds, work) {
  return measure(async () => {
    const end = performance.now() + seconds * 1000;
    let count = 0;
    while (performance.now() < end) {
      await work();
      count += 1;
    }
    return count;
  });
}

/**
 * Runs `work`, which returns its number of operations. Returns that number, the time in seconds,
 * and the CPU time in microseconds.
 */
export async function measure(work) {
  const before = resourceUsage();
  const began = performance.now();
  const count = await work();
  const after = resourceUsage();
  const cpu = after.userCPUTime + after.systemCPUTime - before.userCPUTime - before.systemCPUTime;
  return { count, seconds: (performance.now() - began) / 1000, cpu };
}

/** Sends `ready` to the parent process, and runs `work` for each job that the parent sends. */
export function serveJobs(ready, work) {
  process.on('message', async (job) => process.send(await work(job)));
  process.on('disconnect', () => process.exit());
  process.send(ready);
}
