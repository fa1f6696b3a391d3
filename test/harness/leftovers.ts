import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';

const running = new Set<ChildProcess>();
const folders = new Set<string>();

/** Makes sure that a process ends with the tests of this file, even if one of them fails. */
export function endWithTests<T extends ChildProcess>(child: T): T {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Removes a folder after the tests of this file. */
export function removeWithTests(folder: string): string {
  folders.add(folder);
  return folder;
}

/** Kills all processes that the tests of a file have left, and removes their folders. */
export async function removeLeftovers(): Promise<void> {
  const ends = [...running].map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGKILL');
  await Promise.all(ends);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}
