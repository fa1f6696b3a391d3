import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpuMicroseconds } from './processes.mjs';

/**
 * Starts one of the programs in `floors/`, which do the least that a scenario cannot do without. `run` lets it work for some seconds, or once,
 * and returns `{ count, seconds, cpu }`: how much it did, how long it took, and its CPU microseconds.
 */
export async function startFloor(name, ...args) {
  const child = fork(new URL(`floors/${name}.mjs`, import.meta.url), args, { stdio: 'inherit' });
  const [ready] = await once(child, 'message');
  return {
    ...ready,
    pid: child.pid,
    headers: {},
    cpu: () => cpuMicroseconds(child.pid),
    async run(job) {
      child.send(job);
      const [result] = await once(child, 'message');
      return result;
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
