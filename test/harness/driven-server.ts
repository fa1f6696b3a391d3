import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRequest } from '../../src/dns/key-check.ts';
import { queryOverUdp, type NameServer } from '../../src/net/dns.ts';
import { NetError } from '../../src/net/faults.ts';
import { recordShown } from './evidence.ts';
import { accepts, freePort } from './connections.ts';
import { afterTests, endWithTests } from './leftovers.ts';
import { startAgainIfFailed, untilTrue, whenReady } from './starts.ts';
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
export function startDrivenServer(
  recipe: ServerRecipe,
  zones: readonly string[] = ZONES,
): Promise<DrivenServer> {
  return startAgainIfFailed(recipe.name, () => startOnNewPorts(recipe, zones));
}

async function startOnNewPorts(
  recipe: ServerRecipe,
  zones: readonly string[],
): Promise<DrivenServer> {
  const { name } = recipe;
  const folder = mkdtempSync(join(tmpdir(), `tsigil-driven-${name.toLowerCase()}-`));
  const [port, controlPort] = [await freePort(), await freePort()];
  mkdirSync(join(folder, 'keys'));
  for (const zone of zones) writeFileSync(join(folder, `${zone}.zone`), zoneText(zone));
  recipe.configure(folder, port, controlPort, zones);
  const address = { host: '127.0.0.1', port };
  const control =
    recipe.controlSocket === undefined
      ? { host: '127.0.0.1', port: controlPort }
      : { path: join(folder, recipe.controlSocket) };
  const [program, ...parameters] = recipe.command(folder);
  let output = '';
  let child: ChildProcess | undefined;

  const startOnce = async () => {
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
    const server = { name, child: started, output: () => output };
    const serve = async () => {
      await untilTrue(server, () => responds(address));
      // Knot DNS responds to queries before it opens its control socket.
      await untilTrue(server, () => accepts(control));
      await untilTrue(server, () => completes(() => recipe.ready?.(folder, controlPort)));
    };
    await whenReady(server, serve());
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
  await startOnce();
  const start = () => startAgainIfFailed(name, startOnce);
  const signal = (sent: NodeJS.Signals) => void child?.kill(sent);
  return { address, folder, controlPort, output: () => output, signal, start, stop, remove };
}

async function responds(address: NameServer): Promise<boolean> {
  const question = checkRequest('query', 'b.test', 1, '');
  try {
    await queryOverUdp(address, { octets: question }, () => true, { tries: 1, seconds: 0.2 });
    return true;
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    return false;
  }
}

/** Returns whether the server did not close its connection. PowerDNS may close the first. */
async function completes(work: () => Promise<void> | undefined): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // `fetch` throws a TypeError
    return false;
  }
}

/** Returns the content of a file, or undefined if the file cannot be read. */
export function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
