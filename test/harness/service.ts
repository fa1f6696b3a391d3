import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { once } from 'node:events';
import { pino } from 'pino';
import { ACTIONS, type AllDependencies } from '../../src/actions.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Config } from '../../src/config/options.ts';
import { formatMasterKey, masterKeyOf } from '../../src/core/master-key.ts';
import { createLog } from '../../src/log.ts';
import { createMetrics } from '../../src/http/metrics/metrics.ts';
import { startService } from '../../src/service.ts';
import type { ServiceDependencies } from '../../src/service-parts.ts';
import { BYTE_LIMITS, liveSettings } from '../../src/service-settings.ts';
import { createClient, type Client } from './client.ts';
import { recordShown } from './evidence.ts';
import { createDatabase } from './postgres.ts';
import { atEnd, endWithTests, removeWithTests } from './leftovers.ts';
import { startAgainIfFailed, whenReady } from './starts.ts';

/** A service with a separate database. As a client, it uses the administrator token. */
export interface TestService extends Client {
  readonly folder: string;
  /** The lines that the service has logged. */
  readonly log: string[];
  close(): Promise<void>;
}

/**
 * Returns the database URL of a test: a file in `folder`, or a database on the run's PostgreSQL
 * server.
 */
export async function testDatabase(folder: string): Promise<string> {
  const server = process.env.TEST_POSTGRES_URL;
  if (process.env.TEST_DATABASE !== 'postgres' || server === undefined)
    return `sqlite:${join(folder, 'tsigil.db')}`;
  return createDatabase(server, basename(folder));
}

/** Creates a folder that is removed after the tests of this file. */
export function temporaryFolder(parent = tmpdir()): string {
  return removeWithTests(mkdtempSync(join(parent, 'tsigil-')));
}

/** Where a suite about durability keeps its files: on a disk, even if others use the memory. */
export const DISK = process.env.TEST_DISK ?? tmpdir();

/** The master key of services on PostgreSQL. */
export const TEST_MASTER_KEY = formatMasterKey(masterKeyOf(randomBytes(32)));

/**
 * Returns a master key for a service on PostgreSQL, unless the test sets one. An embedded database
 * creates its own.
 */
export function encryptionOf(variables: Record<string, string>): Record<string, string> {
  const isSet = Object.keys(variables).some((name) => name.startsWith('TSIGIL_ENCRYPTION_'));
  return isSet || variables.TSIGIL_DATABASE_URL?.startsWith('postgres') !== true
    ? {}
    : { TSIGIL_ENCRYPTION_MASTER_KEY: TEST_MASTER_KEY };
}

/**
 * Starts a service inside this process, until the end of the test or the file. `variables` are its
 * environment variables. With the `folder` of an earlier service, the service uses the same
 * database.
 */
export async function startTestService(
  variables: Record<string, string> = {},
  options: Partial<ServiceDependencies> & { folder?: string } = {},
): Promise<TestService> {
  const { folder = temporaryFolder(), ...dependencies } = options;
  const adminToken = variables.TSIGIL_ADMIN_TOKEN ?? `test-admin-${randomUUID()}`;
  const database = variables.TSIGIL_DATABASE_URL ?? (await testDatabase(folder));
  const config = readConfig(undefined, {
    TSIGIL_LISTEN: '127.0.0.1:0',
    TSIGIL_DATABASE_URL: database,
    ...encryptionOf({ ...variables, TSIGIL_DATABASE_URL: database }),
    TSIGIL_ADMIN_TOKEN: adminToken,
    ...variables,
  });
  const log: string[] = [];
  const write = (line: string) => {
    log.push(line);
    recordShown('log', line);
  };
  const service = await startService(config, {
    log: createLog(config.log.level, () => ({ write })),
    ...dependencies,
  });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= service.close());
  atEnd(close);
  return { ...createClient(service.url, adminToken), folder, log, close };
}

/** A service that runs as a separate process of the built program. */
export interface ServiceProcess extends Client {
  readonly process: ChildProcess;
  /** Returns everything that the process has printed. */
  output(): string;
  /**
   * Sends a signal and waits for the exit. Returns the exit code, or null if the signal ended the
   * process.
   */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/** The built program. `npm test` builds it first. */
export const PROGRAM = join(import.meta.dirname, '../../dist/main.js');

/** Returns the environment of this process without `TSIGIL_` variables, and with `variables`. */
export function cleanEnvironment(variables: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TSIGIL_'));
  return { ...Object.fromEntries(own), ...variables };
}

/**
 * Starts the built program in `folder` and waits until it listens. Kills it after the tests of the
 * file. Rejects with the output if the program exits instead, or hangs. `limits` are options of
 * `ulimit`, such as `-n 64`.
 */
export function startServiceProcess(
  folder: string,
  variables: Record<string, string> = {},
  limits?: string,
  flags: readonly string[] = [],
): Promise<ServiceProcess> {
  const start = () => startOnce(folder, variables, limits, flags);
  // Only a given port can be taken.
  return variables.TSIGIL_LISTEN === undefined ? start() : startAgainIfFailed('The service', start);
}

async function startOnce(
  folder: string,
  variables: Record<string, string>,
  limits: string | undefined,
  flags: readonly string[],
): Promise<ServiceProcess> {
  const adminToken = variables.TSIGIL_ADMIN_TOKEN ?? `test-admin-${randomUUID()}`;
  const environment = cleanEnvironment({
    TSIGIL_LISTEN: '127.0.0.1:0',
    TSIGIL_ADMIN_TOKEN: adminToken,
    ...encryptionOf(variables),
    ...variables,
  });
  const serve = [process.execPath, PROGRAM, 'serve', ...flags];
  const [file = '', ...words] =
    limits === undefined ? serve : ['sh', '-c', `ulimit ${limits} && exec "$@"`, 'sh', ...serve];
  const child = endWithTests(
    spawn(file, words, { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  let output = '';
  // Not at the exit, because output may still be in the pipes then.
  const exited = once(child, 'close') as Promise<[number | null, string | null]>;
  const listening = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        output += text;
        recordShown('output', text);
        const found = /"url":"([^"]+)".*"msg":"listening"/.exec(output);
        // Resolves later, so that earlier output on the other stream is read first.
        if (found?.[1] !== undefined) setImmediate(resolve, found[1]);
      });
    }
  });
  const service = { name: 'The service', child, output: () => output };
  const url = await whenReady(service, listening);
  return {
    ...createClient(url, adminToken),
    process: child,
    output: () => output,
    async stop(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** Runs a command of the built program in `folder`, and waits until it exits. */
export function runTsigil(
  folder: string,
  variables: Record<string, string>,
  ...argv: readonly string[]
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [PROGRAM, ...argv], {
    cwd: folder,
    env: cleanEnvironment(variables),
    encoding: 'utf8',
    timeout: 60_000,
  });
}

/** Runs `tsigil serve` with a configuration with which the service cannot start. */
export function serveInVain(
  folder: string,
  variables: Record<string, string> = {},
): ReturnType<typeof runTsigil> {
  return runTsigil(folder, { TSIGIL_LISTEN: '127.0.0.1:0', ...variables }, 'serve');
}

/**
 * Returns the settings of an HTTP server on `store` with a silent log, without a metrics route of
 * the database.
 */
export function serverSettingsOn(config: Config, dependencies: AllDependencies) {
  return {
    ...config.api,
    ...BYTE_LIMITS,
    ...liveSettings(config, dependencies),
    maxConnectionsPerAddress: undefined,
    databaseConnections: undefined,
    metrics: createMetrics('test'),
    log: pino({ level: 'silent' }),
    version: 'test',
    guides: 'https://guides.example',
    actions: ACTIONS,
    furtherRoutes: [],
    hasConsole: false,
    urls: { publicUrl: undefined, trustProxyHeaders: config.api.trustProxyHeaders },
    tls: config.tls,
  };
}
