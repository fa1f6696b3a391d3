import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type Client } from '../harness/client.ts';
import { recordShown } from '../harness/evidence.ts';
import { cleanEnvironment, encryptionOf, PROGRAM, temporaryFolder } from '../harness/service.ts';
import { untilTrue, whenReady } from '../harness/starts.ts';

/** The options for starting a service under attack. */
export interface Start {
  readonly variables?: Readonly<Record<string, string>>;
  /** The maximum number of open files. The default is the limit of this process. */
  readonly openFiles?: number;
  /** The maximum heap of V8 in MB. The default is the default of V8. */
  readonly heapMb?: number;
}

/**
 * A service that runs as a process of the built program. It logs to a file, because a test cannot
 * read all log lines of an attack in time.
 */
export interface AttackedService extends Client {
  readonly pid: number;
  readonly folder: string;
  isRunning(): boolean;
  /**
   * Stops the service and removes its folder. Returns the exit code and up to three log lines with
   * the level error.
   */
  stop(): Promise<{ code: number | null; faults: string[] }>;
}

/**
 * Starts the built program in `folder`, by default in a new folder, and waits until it listens.
 * Rejects with the log if the program exits instead.
 */
export async function startAttackedService(
  { variables = {}, openFiles, heapMb }: Start,
  folder = temporaryFolder(),
): Promise<AttackedService> {
  const adminToken = `test-admin-${randomUUID()}`;
  const env = cleanEnvironment({
    TSIGIL_LISTEN: '127.0.0.1:0',
    TSIGIL_DATABASE_URL: `sqlite:${join(folder, 'tsigil.db')}`,
    TSIGIL_ADMIN_TOKEN: adminToken,
    ...encryptionOf(variables),
    ...variables,
  });
  const logFile = join(folder, 'log');
  const log = openSync(logFile, 'a');
  const program = [
    process.execPath,
    ...(heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`]),
    PROGRAM,
    'serve',
  ];
  const limit = openFiles === undefined ? '' : `ulimit -n ${openFiles}; `;
  const child = spawn('sh', ['-c', `${limit}exec "$@"`, 'sh', ...program], {
    cwd: folder,
    env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill); // stops the service if a failed test does not
  void exited.then(() => process.off('exit', kill));
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const readLog = () => readFileSync(logFile, 'utf8');
  const service = { name: 'The service', child, output: readLog };
  const findUrl = () => /"url":"([^"]+)".*"msg":"listening"/.exec(readLog())?.[1];
  const isListening = () => findUrl() !== undefined;
  await whenReady(service, untilTrue(service, isListening));
  return {
    ...createClient(findUrl() ?? '', adminToken),
    pid: child.pid ?? 0,
    folder,
    isRunning,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exited;
      const others = readLog()
        .split('\n')
        .filter((line) => line !== '' && !line.includes('"msg":"request"'));
      recordShown('output', others.join('\n'));
      rmSync(folder, { recursive: true, force: true });
      const faults = others.filter((line) => !/"level":"(?:debug|info|warn)"/.test(line));
      return { code, faults: faults.slice(0, 3).map((line) => line.slice(0, 500)) };
    },
  };
}

/** Returns the ids of a process and all its descendants. */
function processTree(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return [pid, ...children.flatMap(processTree)];
}

function sumOver(pid: number, measure: (each: number) => number): number {
  return processTree(pid).reduce((sum, each) => sum + measure(each), 0);
}

/** Returns the peak resident memory of a process and its children, in MB. */
export function peakMemoryMb(pid: number): number {
  return sumOver(
    pid,
    (each) =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1]) / 1024,
  );
}

/** Returns the number of descriptors that a process and its children have open. */
export function countDescriptors(pid: number): number {
  return sumOver(pid, (each) => readdirSync(`/proc/${each}/fd`).length);
}
