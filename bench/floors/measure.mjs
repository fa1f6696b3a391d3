import { resourceUsage } from 'node:process';

/** Repeats `work` for `seconds` and tells how often it could be done, how long that took, and the CPU microseconds it cost. */
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

/** Runs `work`, which returns how much it did, and tells what it cost. */
export async function measure(work) {
  const before = resourceUsage();
  const began = performance.now();
  const count = await work();
  const after = resourceUsage();
  const cpu = after.userCPUTime + after.systemCPUTime - before.userCPUTime - before.systemCPUTime;
  return { count, seconds: (performance.now() - began) / 1000, cpu };
}

/** Tells the parent that this floor is ready, and does `work` with each job it is given. */
export function serveJobs(ready, work) {
  process.on('message', async (job) => process.send(await work(job)));
  process.on('disconnect', () => process.exit());
  process.send(ready);
}
