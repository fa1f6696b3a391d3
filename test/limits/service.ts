import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type Client } from '../harness/client.ts';
import { recordShown } from '../harness/evidence.ts';
import { cleanEnvironment, PROGRAM, temporaryFolder } from '../harness/service.ts';

/** How long a service may take to stop: its own 10 s for requests under way, and some more. */
const STOP_MS = 15_000;

/** How a service is started that will be attacked. */
export interface Start {
  readonly variables?: Readonly<Record<string, string>>;
  /** The most file descriptors that it may have open; unset, as many as this process may. */
  readonly openFiles?: number;
  /** The largest heap of V8; unset, V8's own choice. */
  readonly heapMb?: number;
}

/** The built program, whose log goes to a file: an attack makes more lines than a test could read meanwhile. */
export interface AttackedService extends Client {
  readonly pid: number;
  readonly folder: string;
  isRunning(): boolean;
  /** Stops it, removes its folder and returns its exit code and the log lines of level error. */
  stop(): Promise<{ code: number | null; faults: string[] }>;
}

/** Starts the built program in `folder`, or in a new one, and waits until it listens. Rejects with its log if it ends instead. */
export async function startAttackedService(
  { variables = {}, openFiles, heapMb }: Start,
  folder = temporaryFolder(),
): Promise<AttackedService> {
  const adminToken = `test-admin-${randomUUID()}`;
  const env = cleanEnvironment({
    TSIGIL_LISTEN: '127.0.0.1:0',
    TSIGIL_DATABASE_URL: `sqlite:${join(folder, 'tsigil.db')}`,
    TSIGIL_ADMIN_TOKEN: adminToken,
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
  process.once('exit', kill); // where a failure keeps a test from stopping it
  void exited.then(() => process.off('exit', kill));
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const readLog = () => readFileSync(logFile, 'utf8');
  let url: string | undefined;
  while (url === undefined) {
    if (!isRunning()) throw new Error(`The service ended with ${child.exitCode}: ${readLog()}`);
    await pause(10); // polls the condition; the log is a file
    url = /"url":"([^"]+)".*"msg":"listening"/.exec(readLog())?.[1];
  }
  return {
    ...createClient(url, adminToken),
    pid: child.pid ?? 0,
    folder,
    isRunning,
    async stop() {
      child.kill('SIGTERM');
      const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      const [code] = await exited;
      clearTimeout(deadline);
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

/** A process and all below it. */
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

/** The most memory that a process had resident since its start, with that of its children, in MB. */
export function peakMemoryMb(pid: number): number {
  return sumOver(
    pid,
    (each) =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1]) / 1024,
  );
}

/** How many descriptors a process and its children have open. */
export function countDescriptors(pid: number): number {
  return sumOver(pid, (each) => readdirSync(`/proc/${each}/fd`).length);
}

/** The CPU time that a process and its children have used since their start, in milliseconds. */
export function cpuMilliseconds(pid: number): number {
  return sumOver(pid, (each) => {
    const text = readFileSync(`/proc/${each}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')')).split(' ');
    return (Number(fields[12]) + Number(fields[13])) * MILLISECONDS_PER_TICK;
  });
}

/** USER_HZ is 100 on every Linux. */
const MILLISECONDS_PER_TICK = 10;

/** How long the main thread of a process has run and has waited for a processor since its start, in nanoseconds; zeros where the system does not say. */
export function processorTimes(pid: number): { readonly ran: number; readonly waited: number } {
  const path = `/proc/${pid}/schedstat`;
  const [ran = 0, waited = 0] = existsSync(path)
    ? readFileSync(path, 'utf8').split(' ').map(Number)
    : [];
  return { ran, waited };
}
