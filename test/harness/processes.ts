import type { ChildProcess } from 'node:child_process';

const running = new Set<ChildProcess>();

/** Makes sure that a process ends with the tests of this file, even if one of them fails. */
export function endWithTests<T extends ChildProcess>(child: T): T {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Kills all processes that the tests of a file have left. */
export function killRunning(): void {
  for (const child of running) child.kill('SIGKILL');
}
