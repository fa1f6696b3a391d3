import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { recordShown } from './evidence.ts';

/**
 * Reads the arguments and the environment of a process and of its children, as `ps` does, until the
 * signal aborts. Records both for the search for secrets. Returns the number of processes (Linux).
 */
export async function watchProcesses(pid: number, signal: AbortSignal): Promise<number> {
  const seen = new Set<number>();
  const texts = new Set<string>();
  while (!signal.aborted) {
    for (const each of [pid, ...childrenOf(pid)]) {
      seen.add(each);
      texts.add(textOf(`/proc/${each}/cmdline`) + textOf(`/proc/${each}/environ`));
    }
    await pause(5);
  }
  // The variable with the token is set by the test.
  for (const text of texts)
    recordShown('output', text.replaceAll(/TSIGIL_ADMIN_TOKEN=[^\0]*/g, '').replaceAll('\0', ' '));
  return seen.size;
}

function childrenOf(pid: number): number[] {
  let tasks: string[];
  try {
    tasks = readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has ended
  }
  return tasks.flatMap((task) =>
    textOf(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
