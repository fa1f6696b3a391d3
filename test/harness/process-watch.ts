import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** The time in milliseconds between two samples. */
const SAMPLE_MS = 25;

/**
 * Samples of the arguments and environments of processes. Every user of the machine can read the
 * arguments. The user that runs the process, and root, can read the environment.
 */
export interface ProcessSamples {
  /** Stops sampling. Returns the arguments and environments of all sampled processes. */
  stop(): Promise<readonly string[]>;
}

/** Samples the arguments and environments of all descendants of this process, until `stop`. */
export function sampleDescendants(): ProcessSamples {
  const samples = new Set<string>();
  const stopping = new AbortController();
  const isStopped = () => stopping.signal.aborted;
  const sample = () => {
    const parents = new Map<number, number>();
    for (const name of readdirSync('/proc')) {
      const pid = Number(name);
      if (!Number.isInteger(pid)) continue;
      const parent = Number(/^.*\) \S (\d+)/s.exec(textOf(`/proc/${pid}/stat`))?.[1]);
      if (Number.isInteger(parent)) parents.set(pid, parent);
    }
    for (const pid of parents.keys())
      if (descends(parents, pid))
        for (const file of ['cmdline', 'environ']) samples.add(textOf(`/proc/${pid}/${file}`));
  };
  const running = (async () => {
    while (!isStopped()) {
      sample();
      await pause(SAMPLE_MS);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
      return [...samples];
    },
  };
}

/** Returns whether the process `pid` is a descendant of this process. */
function descends(parents: ReadonlyMap<number, number>, pid: number): boolean {
  for (let each = parents.get(pid); each !== undefined; each = parents.get(each))
    if (each === process.pid) return true;
  return false;
}

/** Returns the content of a file in /proc, or an empty string if the process has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
