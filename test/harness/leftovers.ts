import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';

const leftovers: (() => unknown)[] = [];

/** Runs `work` after the tests of this file. */
export function afterTests(work: () => unknown): void {
  leftovers.push(work);
}

/** Runs `work` at the end of the current test, or outside of tests, after the tests of the file. */
export function atEnd(work: () => void | Promise<void>): void {
  try {
    onTestFinished(work);
  } catch {
    afterTests(work);
  }
}

/** Makes sure that a process ends with the tests of this file, even if one of them fails. */
export function endWithTests<T extends ChildProcess>(child: T): T {
  afterTests(() => child.kill('SIGKILL'));
  return child;
}

/** Removes a folder after the tests of this file. */
export function removeWithTests(folder: string): string {
  afterTests(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** Removes what the tests of a file have left, the newest first. */
export async function removeLeftovers(): Promise<void> {
  for (const remove of leftovers.splice(0).toReversed()) await remove();
}
