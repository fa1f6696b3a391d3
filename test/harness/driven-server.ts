import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type NetConnectOpts } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkRequest } from '../../src/domain/dns/key-check.ts';
import { queryOverUdp, type NameServer } from '../../src/net/dns.ts';
import { NetError } from '../../src/net/faults.ts';
import { recordShown } from './evidence.ts';
import { freePort } from './connections.ts';
import { afterTests, endWithTests } from './leftovers.ts';
import { TOOL_ENVIRONMENT } from './tools.ts';

/** The zones on every server, in comparison form. */
export const ZONES = ['a.test', 'b.test'] as const;

/** A running name server whose keys a driver manages. */
export interface DrivenServer {
  readonly address: NameServer;
  /** The folder with the configuration and the data of the server. */
  readonly folder: string;
  /** The port of the control channel or the API. */
  readonly controlPort: number;
  /** Returns everything that the server has printed. */
  output(): string;
  /** Sends a signal to the process. */
  signal(name: NodeJS.Signals): void;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops the server and deletes its folder. */
  remove(): Promise<void>;
}

/** The configuration and the command of a name server program. */
export interface ServerRecipe {
  readonly name: string;
  /**
   * Writes the configuration of a server with `zones`, by default `ZONES`. The driver writes its
   * file in `folder`/keys.
   */
  configure(folder: string, port: number, controlPort: number, zones?: readonly string[]): void;
  command(folder: string): [string, ...string[]];
  /**
   * The name of the control socket in `folder`. If undefined, the server listens on `controlPort`.
   */
  readonly controlSocket?: string | undefined;
  /** Runs after each start, once the control channel accepts connections. */
  ready?(folder: string, controlPort: number): Promise<void>;
}

/** Returns a zone file with an SOA, an NS and an A record. */
export function zoneText(zone: string): string {
  return `$TTL 60
@ SOA ns.${zone}. hostmaster.${zone}. 5 3600 600 86400 60
@ NS ns.${zone}.
ns A 192.0.2.1
`;
}

/**
 * Configures a name server in a temporary folder, starts the server, and waits until it responds.
 * Removes it after the tests of the file. `zones` must include `ZONES`.
 */
export async function startDrivenServer(
  recipe: ServerRecipe,
  zones: readonly string[] = ZONES,
): Promise<DrivenServer> {
  const folder = mkdtempSync(join(tmpdir(), `tsigil-driven-${recipe.name.toLowerCase()}-`));
  const [port, controlPort] = [await freePort(), await freePort()];
  mkdirSync(join(folder, 'keys'));
  for (const zone of zones) writeFileSync(join(folder, `${zone}.zone`), zoneText(zone));
  recipe.configure(folder, port, controlPort, zones);
  const address = { host: '127.0.0.1', port };
  const [program, ...parameters] = recipe.command(folder);
  let output = '';
  let child: ChildProcess | undefined;

  const start = async () => {
    const started = spawn(program, parameters, {
      cwd: folder,
      env: TOOL_ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = endWithTests(started);
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        recordShown('output', text);
      });
    }
    await responds(address, started, () => output);
    // Knot DNS responds to queries before it opens its control socket.
    await accepts(
      recipe.controlSocket === undefined
        ? { host: '127.0.0.1', port: controlPort }
        : { path: join(folder, recipe.controlSocket) },
      started,
      () => output,
    );
    await completes(
      () => recipe.ready?.(folder, controlPort),
      started,
      () => output,
    );
  };
  const stop = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    await ended;
  };
  const remove = async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  afterTests(remove);
  await start();
  const signal = (name: NodeJS.Signals) => void child?.kill(name);
  return { address, folder, controlPort, output: () => output, signal, start, stop, remove };
}

async function responds(
  address: NameServer,
  server: ChildProcess,
  output: () => string,
): Promise<void> {
  const question = checkRequest('query', 'b.test', 1, '');
  const timeouts = { tries: 1, seconds: 0.2 };
  for (;;) {
    refuseIfEnded(server, output);
    try {
      await queryOverUdp(address, { octets: question }, () => true, timeouts);
      return;
    } catch (error) {
      if (!(error instanceof NetError)) throw error;
    }
    await pause(20);
  }
}

async function accepts(
  control: NetConnectOpts,
  server: ChildProcess,
  output: () => string,
): Promise<void> {
  for (;;) {
    refuseIfEnded(server, output);
    const socket = connect(control);
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await pause(20);
    } finally {
      socket.destroy();
    }
  }
}

/** Repeats work until the server no longer closes its connections. PowerDNS may close the first. */
async function completes(
  work: () => Promise<void> | undefined,
  server: ChildProcess,
  output: () => string,
): Promise<void> {
  for (let left = 100; ; left -= 1) {
    try {
      await work();
      return;
    } catch (error) {
      refuseIfEnded(server, output);
      const isClosed = error instanceof TypeError; // of `fetch`
      if (!isClosed || left === 0)
        throw new Error(`The name server is not ready: ${output()}`, { cause: error });
    }
    await pause(20);
  }
}

function refuseIfEnded(server: ChildProcess, output: () => string): void {
  const end = server.exitCode ?? server.signalCode;
  if (end !== null) throw new Error(`The name server ended with ${end}: ${output()}`);
}

/** Returns the content of a file, or undefined if the file cannot be read. */
export function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
