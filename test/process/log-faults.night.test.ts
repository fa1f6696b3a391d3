import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClient, type Client } from '../harness/client.ts';
import { canMount, mountMemory, type SmallFileSystem } from '../harness/file-systems.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startServiceProcess,
  temporaryFolder,
} from '../harness/service.ts';

interface Line {
  readonly msg: string;
  /** The number of lost lines, in a line that reports lost lines. */
  readonly lines?: number;
}

let folder: string;
let child: ChildProcess | undefined;
let fileSystem: SmallFileSystem | undefined;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  child?.kill('SIGKILL');
  child = undefined;
  fileSystem?.remove();
  fileSystem = undefined;
});

/** Returns the lines of a log. Fails unless every line is complete. */
function parseLog(text: string): Line[] {
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/**
 * Returns the number of requests in a log, and the number of lines that the log reports as lost.
 */
function countLines(lines: readonly Line[]): { logged: number; lost: number } {
  return {
    logged: lines.filter(({ msg }) => msg === 'request').length,
    lost: lines.reduce(
      (sum, { msg, lines: missing = 0 }) => (msg === 'log lines were lost' ? sum + missing : sum),
      0,
    ),
  };
}

async function sendRequests(client: Client, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1)
    expect((await client.get('/v2/tlds')).status).toBe(200);
}

/** Starts a service whose standard output is the file `log`. */
async function startWithLogIn(
  log: string,
): Promise<{ client: Client; complaints: () => string; stop: () => Promise<number | null> }> {
  const descriptor = openSync(log, 'a');
  const service = spawn(process.execPath, [PROGRAM, 'serve'], {
    cwd: folder,
    env: cleanEnvironment({ TSIGIL_LISTEN: '127.0.0.1:0' }),
    stdio: ['ignore', descriptor, 'pipe'],
  });
  child = service;
  closeSync(descriptor);
  const exited = once(service, 'exit') as Promise<[number | null]>;
  const { stderr } = service;
  let complaints = '';
  stderr?.setEncoding('utf8');
  const url = await new Promise<string>((resolve, reject) => {
    stderr?.on('data', (text: string) => {
      complaints += text;
      const [, found] = /Tsigil listens on (http:\S+)/.exec(complaints) ?? [];
      if (found !== undefined) resolve(found);
    });
    void exited.then(([code]) =>
      reject(new Error(`The service ended with ${code}: ${complaints}`)),
    );
  });
  return {
    client: createClient(url, readFileSync(join(folder, 'var/admin.token'), 'utf8').trim()),
    complaints: () => complaints,
    async stop() {
      service.kill('SIGTERM');
      return (await exited)[0];
    },
  };
}

/** Fills the file system of `path`. */
function fill(path: string): void {
  expect(() => writeFileSync(path, Buffer.alloc(2 ** 21))).toThrow(/ENOSPC/);
}

describe.skipIf(!canMount((parent) => mountMemory(parent, '1m'), 'A tmpfs'))(
  'the log on a full disk',
  () => {
    test('does not affect requests; when space is free, the log continues and reports the lost lines', async () => {
      fileSystem = mountMemory(folder, '1m');
      const disk = fileSystem?.folder ?? '';
      const { client, complaints, stop } = await startWithLogIn(join(disk, 'log'));
      await sendRequests(client, 3);
      fill(join(disk, 'filler'));
      await sendRequests(client, 40);
      expect(complaints().match(/tsigil: The log cannot be written: ENOSPC/g)).toHaveLength(1);
      rmSync(join(disk, 'filler'));
      await sendRequests(client, 3);
      expect(await stop()).toBe(0);
      const lines = parseLog(readFileSync(join(disk, 'log'), 'utf8'));
      const { logged, lost } = countLines(lines);
      expect(lost).toBeGreaterThan(10);
      expect(logged + lost).toBe(46);
      expect(lines.at(-1)?.msg).toBe('stopped');
    });
  },
);

test('a program that stops reading the log does not block the service', async () => {
  const service = await startServiceProcess(folder);
  child = service.process;
  const { stdout } = service.process;
  stdout?.pause();
  let sent = 3000;
  await sendRequests(service, sent);
  stdout?.resume();
  for (; !service.output().includes('log lines were lost'); sent += 1)
    await sendRequests(service, 1);
  expect(await service.stop('SIGTERM')).toBe(0);
  if (stdout?.readableEnded === false) await once(stdout, 'end');
  const printed = service.output().split('\n');
  const log = printed.filter((line) => line.startsWith('{'));
  const { logged, lost } = countLines(parseLog(`${log.join('\n')}\n`));
  expect(lost).toBeGreaterThan(0);
  expect(logged + lost).toBe(sent);
  expect(
    printed.filter((line) => line.startsWith('tsigil: The log cannot be written')),
  ).toHaveLength(1);
});
