// Starts and stops the programs of the demo.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** The time limit for the start of a program or for a condition, in milliseconds. */
const TIMEOUT_MS = 20_000;

/** How long a program may take to end before the demo kills it, in milliseconds. */
const END_MS = 5000;

/** The folders to search for programs: those of the PATH, and those for administrators. */
const FOLDERS = [...(process.env.PATH ?? '').split(':'), '/usr/local/sbin', '/usr/sbin', '/sbin'];

/** The environment of all programs, without the variables of Tsigil and OpenStack. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:TSIGIL|OS)_/.test(name)),
);

/** Returns the path of a program, or undefined if it is not installed. */
export function findProgram(name) {
  return FOLDERS.filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Returns a free port on 127.0.0.1. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Returns functions that run programs in `folder`. After `signal` is aborted, the functions throw
 * the abort reason.
 */
export function createProcesses(folder, signal) {
  const running = [];

  const launch = (program, parameters, variables) => {
    const child = spawn(program, parameters, {
      cwd: folder,
      env: { ...ENVIRONMENT, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = { child, stdout: '', output: '', ended: false };
    started.exit = new Promise((resolve) => {
      child.on('error', (error) => {
        started.output += `${error.message}\n`;
        started.ended = true;
        resolve(1);
      });
      child.on('close', (code) => {
        started.ended = true;
        resolve(code);
      });
    });
    child.stdout.setEncoding('utf8').on('data', (text) => (started.stdout += text));
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (started.output += text));
    running.push(started);
    return started;
  };

  /** Waits until `condition` returns a truthy value, and returns that value. */
  const until = async (condition, subject) => {
    const end = Date.now() + TIMEOUT_MS;
    for (;;) {
      signal.throwIfAborted();
      const result = await condition();
      if (result) return result;
      if (Date.now() > end) throw new Error(`${subject} within ${TIMEOUT_MS / 1000} seconds`);
      await pause(30);
    }
  };

  return {
    until,

    /** Starts a program, and waits until `ready` returns a truthy value for its output. */
    async start(title, program, parameters, ready) {
      const started = launch(program, parameters, {});
      return until(async () => {
        if (started.ended) throw new Error(`${title} ended during startup:\n${started.output}`);
        return ready(started.output);
      }, `${title} did not start`);
    },

    /** Runs a program until it exits, and returns its exit code, its standard output and its whole output. */
    async run(program, parameters, variables = {}) {
      const started = launch(program, parameters, variables);
      const status = await started.exit;
      signal.throwIfAborted();
      return { status, stdout: started.stdout, output: started.output };
    },

    /** Stops all programs, the last started first. */
    async end() {
      for (const { child, exit, ended } of running.toReversed()) {
        if (ended) continue;
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
        await exit;
        clearTimeout(timer);
      }
    },
  };
}
