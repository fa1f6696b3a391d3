import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuMicroseconds, memoryMb } from './processes.mjs';

export const ROOT = join(import.meta.dirname, '..');

/** The folder for results and profiles. */
export const OUTPUT = join(ROOT, 'var/bench');

/**
 * The clean-up functions to call when this process ends, even after a signal.
 * @type {Set<() => void>}
 */
const leftovers = new Set();
process.on('exit', () => leftovers.forEach((clear) => clear()));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** Creates a folder that this process removes when it ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-bench-'));
  leftovers.add(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns a free port on 127.0.0.1. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  return port;
}

/**
 * Starts the built service with its default settings, and writes its log to a file. `database` is
 * the setting `database.url`, and `variables` are further environment variables. If the database
 * already has a token, pass it in `headers`, because the service then creates no first token. With
 * `profile`, Node.js writes a CPU profile with that name when the service stops. Resolves when the
 * service responds.
 */
export async function startService({
  database,
  variables = {},
  headers,
  profile,
  program = join(ROOT, 'dist/main.js'),
}) {
  const folder = temporaryFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(folder, 'log');
  const log = openSync(logFile, 'a');
  const flags =
    profile === undefined
      ? []
      : [
          '--cpu-prof',
          `--cpu-prof-dir=${join(OUTPUT, 'profiles')}`,
          `--cpu-prof-name=${profile}.cpuprofile`,
        ];
  if (profile !== undefined) mkdirSync(join(OUTPUT, 'profiles'), { recursive: true });
  const setting = database ?? `sqlite:${join(folder, 'tsigil.db')}`;
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TSIGIL_'));
  const env = {
    ...Object.fromEntries(own),
    TSIGIL_LISTEN: `127.0.0.1:${port}`,
    TSIGIL_DATABASE_URL: setting,
    // An embedded database creates its own master key.
    ...(setting.startsWith('postgres')
      ? { TSIGIL_ENCRYPTION_MASTER_KEY: `tsigilmk_${Buffer.alloc(32).toString('base64url')}` }
      : {}),
    ...variables,
  };
  const began = performance.now();
  const child = spawn(process.execPath, [...flags, program, 'serve'], {
    cwd: folder,
    env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  leftovers.add(() => child.kill('SIGKILL'));
  await waitUntilReady(`${url}/healthcheck`, child, logFile);
  const startMs = performance.now() - began;
  const used = headers ?? { 'x-auth-token': await firstToken(setting, folder) };
  // The file of the first token exists before the service accepts that token.
  await waitUntilReady(`${url}/v2/tlds?limit=1`, child, logFile, used);
  return {
    url,
    pid: child.pid,
    headers: used,
    /** The time from the start of the process to its first response, in milliseconds. */
    startMs,
    cpu: () => cpuMicroseconds(child.pid),
    memory: (member) => memoryMb(child.pid, member),
    /** Truncates the log. The service continues to write at offset 0. */
    emptyLog: () => truncateSync(logFile),
    stop,
  };
}

/** Waits for the file with the first token, and returns the token. */
async function firstToken(setting, folder) {
  const path = setting.startsWith('sqlite:')
    ? join(dirname(setting.slice('sqlite:'.length)), 'admin.token')
    : join(folder, 'var/admin.token');
  while (!existsSync(path) || readFileSync(path, 'utf8') === '') await pause(2);
  return readFileSync(path, 'utf8').trim();
}

async function waitUntilReady(url, child, logFile, headers = {}) {
  for (;;) {
    if (child.exitCode !== null)
      throw new Error(
        `The service exited with code ${child.exitCode}: ${readFileSync(logFile, 'utf8')}`,
      );
    const response = await fetch(url, { headers: { ...headers, connection: 'close' } }).catch(
      () => undefined,
    );
    if (response?.status === 200) return;
    await pause(2);
  }
}

/**
 * Sends one request to a service and returns the text of the response. Throws unless the response
 * has the status `status`.
 */
export async function sendRequest(service, method, path, body, status = 200) {
  const response = await fetch(service.url + path, {
    method,
    headers: {
      ...service.headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== status)
    throw new Error(`${method} ${path} returned ${response.status}: ${text.slice(0, 300)}`);
  return text;
}

/** Creates a token that the service stores in its database. Returns the headers with that token. */
export async function ownToken(service, project = null) {
  const { token } = JSON.parse(
    await sendRequest(
      service,
      'POST',
      '/v2/tokens',
      { name: `bench-${Date.now()}`, roles: ['admin'], project_id: project },
      201,
    ),
  );
  return { 'x-auth-token': token };
}
