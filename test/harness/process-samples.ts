import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** How often the processes are read. */
const INTERVAL_MS = 25;

/** What any user of the machine, and root, can see of processes. */
export interface ProcessSamples {
  /** Ends the sampling. Returns the arguments and environments of all processes so far. */
  stop(): Promise<readonly string[]>;
}

/** Reads the arguments and the environments of all processes that this one starts, until `stop`. */
export function watchProcesses(): ProcessSamples {
  const samples = new Set<string>();
  const stopping = new AbortController();
  const isStopped = () => stopping.signal.aborted;
  const sample = () => {
    const parents = new Map<number, number>();
    for (const name of readdirSync('/proc')) {
      const pid = Number(name);
      if (!Number.isInteger(pid)) continue;
      const parent = Number(/^.*\) \S (\d+)/s.exec(read(`/proc/${pid}/stat`))?.[1]);
      if (Number.isInteger(parent)) parents.set(pid, parent);
    }
    for (const pid of parents.keys())
      if (descends(parents, pid))
        for (const file of ['cmdline', 'environ']) samples.add(read(`/proc/${pid}/${file}`));
  };
  const running = (async () => {
    while (!isStopped()) {
      sample();
      await pause(INTERVAL_MS);
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

/** Returns whether this process, or one that it started, started a process. */
function descends(parents: ReadonlyMap<number, number>, pid: number): boolean {
  for (let each = parents.get(pid); each !== undefined; each = parents.get(each))
    if (each === process.pid) return true;
  return false;
}

/** Returns the content of a file; empty if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
