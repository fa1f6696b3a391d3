import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuMicroseconds, memoryMb } from './processes.mjs';

export const ROOT = join(import.meta.dirname, '..');

/** Where results and profiles go. */
export const OUTPUT = join(ROOT, 'var/bench');

/** What to do when this process ends, however it does. @type {Set<() => void>} */
const leftovers = new Set();
process.on('exit', () => leftovers.forEach((clear) => clear()));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** A folder that is gone when the process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-bench-'));
  leftovers.add(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A port that nothing listens on. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  return port;
}

/**
 * Starts the built service as it ships: everything on, its log in a file. `database` is a setting; `variables` are further ones;
 * `headers` are those with a token, where the service makes none because its database has one. With `profile`, Node writes a CPU
 * profile of that name at the end. Resolves when it answers.
 */
export async function startService({ database, variables = {}, headers, profile, program = join(ROOT, 'dist/main.js') }) {
  const folder = temporaryFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(folder, 'log');
  const log = openSync(logFile, 'a');
  const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(OUTPUT, 'profiles')}`, `--cpu-prof-name=${profile}.cpuprofile`];
  if (profile !== undefined) mkdirSync(join(OUTPUT, 'profiles'), { recursive: true });
  const setting = database ?? `sqlite:${join(folder, 'tsigil.db')}`;
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TSIGIL_'));
  const env = {
    ...Object.fromEntries(own),
    TSIGIL_LISTEN: `127.0.0.1:${port}`,
    TSIGIL_DATABASE_URL: setting,
    ...variables,
  };
  const began = performance.now();
  const child = spawn(process.execPath, [...flags, program, 'serve'], { cwd: folder, env, stdio: ['ignore', log, log] });
  closeSync(log);
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  leftovers.add(() => child.kill('SIGKILL'));
  await answers(`${url}/healthcheck`, child, logFile);
  const startMs = performance.now() - began;
  return {
    url,
    pid: child.pid,
    headers: headers ?? { 'x-auth-token': await firstToken(setting, folder) },
    /** How long the first answer took from the start of the process, in milliseconds. */
    startMs,
    cpu: () => cpuMicroseconds(child.pid),
    memory: (member) => memoryMb(child.pid, member),
    /** Empties the log; the service goes on writing at its beginning. */
    emptyLog: () => truncateSync(logFile),
    stop,
  };
}

/** The token that the service made at its first start, beside its database. */
async function firstToken(setting, folder) {
  const path = setting.startsWith('sqlite:') ? join(dirname(setting.slice('sqlite:'.length)), 'admin.token') : join(folder, 'var/admin.token');
  while (!existsSync(path) || readFileSync(path, 'utf8') === '') await pause(2);
  return readFileSync(path, 'utf8').trim();
}

async function answers(url, child, logFile) {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}: ${readFileSync(logFile, 'utf8')}`);
    const answer = await fetch(url, { headers: { connection: 'close' } }).catch(() => undefined);
    if (answer?.status === 200) return;
    await pause(2);
  }
}

/** Asks a service for one thing and returns the answer's text; throws unless the status is `status`. */
export async function ask(service, method, path, body, status = 200) {
  const answer = await fetch(service.url + path, {
    method,
    headers: { ...service.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${method} ${path} was answered with ${answer.status}: ${text.slice(0, 300)}`);
  return text;
}

/**
 * A token of the service's own, as callers have them: kept in its database and looked up there. Returns the headers that carry it.
 */
export async function ownToken(service, project = null) {
  const { token } = JSON.parse(await ask(service, 'POST', '/v2/tokens', { name: `bench-${Date.now()}`, roles: ['admin'], project_id: project }, 201));
  return { 'x-auth-token': token };
}
