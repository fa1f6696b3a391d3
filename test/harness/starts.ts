import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

/** How often a program is started. */
const ATTEMPTS = 3;

/** How long a start may take, in milliseconds. Only a program that hangs takes as long. */
export const START_MS = 60_000;

/** A program that is starting. */
interface Starting {
  readonly name: string;
  readonly child: ChildProcess;
  /** Returns everything that the program has printed. */
  output(): string;
}

/**
 * Returns the result of `start`, which runs again if it fails: another process may have taken its
 * port. Therefore `start` chooses a new port, unless others know the former one. Prints each failure.
 */
export async function startAgainIfFailed<T>(name: string, start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await start();
    } catch (error) {
      const lines = (error as Error).message.split('\n');
      const reason = lines.find((line) => /error:|fatal|fail|in use/i.test(line)) ?? lines[0];
      process.stderr.write(
        `*** ${name} did not start, attempt ${attempt} of ${ATTEMPTS}: ${reason?.trim()} ***\n`,
      );
      if (attempt === ATTEMPTS) throw error;
    }
}

/**
 * Waits for `ready`. If it rejects, or the program ends or takes `START_MS`, kills the program and
 * throws with its output. Call this in the same turn as `spawn`, because it waits for the exit.
 */
export async function whenReady<T>(program: Starting, ready: Promise<T>): Promise<T> {
  const { name, child, output } = program;
  const limit = setTimeout(() => child.kill('SIGKILL'), START_MS);
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const failed = exited.then(([code, signal]) => {
    throw new Error(`${name} ended with ${code ?? signal}`);
  });
  try {
    return await Promise.race([ready, failed]);
  } catch (cause) {
    child.kill('SIGKILL');
    await exited;
    await nextTurn(); // reads what it printed last
    throw new Error(`${(cause as Error).message}: ${output()}`, { cause });
  } finally {
    clearTimeout(limit);
  }
}

/** Asks a program that does not announce its state, until it is as asked. Throws if it ends. */
export async function untilTrue(
  { name, child }: Omit<Starting, 'output'>,
  isTrue: () => boolean | Promise<boolean>,
): Promise<void> {
  while (!(await isTrue())) {
    const end = child.exitCode ?? child.signalCode;
    if (end !== null) throw new Error(`${name} ended with ${end}`);
    await pause(20);
  }
}
