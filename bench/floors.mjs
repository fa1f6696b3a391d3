import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpuMicroseconds } from './processes.mjs';

/**
 * Starts one of the programs in `floors/`, the smallest programs that could do the work of a
 * scenario. `run` sends the program one job and returns `{ count, seconds, cpu }`. `count` is the
 * number of operations, and `cpu` the CPU time in microseconds.
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
