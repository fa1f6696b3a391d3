import type { FileEditor, OpenFiles } from './adoption/commands/editable-files.ts';
import type { FormerFiles } from './adoption/commands/former-files.ts';
import type { CopyOptions } from './backup/copy-database.ts';
import { CommandError, EXIT } from './cli/output/command-error.ts';
import { plainText } from './cli/output/plain-text.ts';
import {
  checkConnections,
  configFrom,
  configReader,
  forOperator,
  localServer,
  localServers,
} from './command-config.ts';
import { fileProblems } from './config/checks.ts';
import { describeConfig } from './config/config.ts';
import type { Config } from './config/options.ts';
import { parseDatabaseUrl, withoutPassword } from './core/text/database-url.ts';
import type { ReadRunningServer } from './keys/commands/key-file.ts';
import { faultOf } from './net/faults.ts';
import type { SecretWork } from './secrets/commands.ts';
import type { Service } from './service.ts';

export { runAgent as agent } from './command-config.ts';

/** Asks the operator for confirmation. Throws if the reply is not yes. */
type Ask = (question: string) => Promise<void>;

const EXIT_DELAY_MS = 500;

/** With `again`, also serves a database that was copied to another. */
export async function serve(configPath: string | undefined, again: boolean): Promise<void> {
  // Without a listener, SIGHUP would end the process before the service has read its configuration.
  process.on('SIGHUP', () => undefined);
  await import('./database/open-database.ts');
  const { localProblems } = await import('./delivery/reconciler/registration.ts');
  await import('./http/server.ts');
  const { serve: serveUntilStopped } = await import('./serve.ts');
  const furtherProblems = ({ nameServers = [] }: Config) => localProblems(nameServers);
  await forOperator(() =>
    serveUntilStopped(configReader(configPath, furtherProblems), again, (service) => {
      if (service.tokenFile !== undefined || process.stdout.isTTY)
        process.stderr.write(welcome(service));
    }),
  ).catch((error: unknown) => {
    // A connection that waits for a password cannot be closed, and may not delay the exit.
    setTimeout(() => process.exit(), EXIT_DELAY_MS).unref();
    throw error;
  });
}

/**
 * Returns the lines that a person reads after the start. They name the file of the token instead of
 * the token, because a log may store them.
 */
function welcome({ url, consoleUrl, tokenFile, masterKeyFile }: Service): string {
  const files = [
    ...(tokenFile === undefined ? [] : [`Token: ${tokenFile}`]),
    ...(masterKeyFile === undefined
      ? []
      : [`Master key: ${masterKeyFile} (store a copy, but not with the backups)`]),
  ];
  return [
    `Tsigil listens on ${url}`,
    ...(consoleUrl === undefined ? [] : [`Web console: ${consoleUrl}`]),
    ...(files.length === 0 ? [] : [files.join('. ')]),
    ...(tokenFile === undefined ? [] : ['Create a key: tsigil tsigkey create transfer-key']),
    '',
  ].join('\n');
}

/** How long a name server may take to print its configuration, which asks BIND for each zone. */
const PRINT_MS = 120_000;

export const readNameServer: ReadRunningServer = async (configPath, name, zones) => {
  const driver = await localDriver(configPath, name);
  const result = await explained(async () =>
    driver.printed?.(AbortSignal.timeout(PRINT_MS), zones),
  );
  if (result === undefined) throw new TypeError(`The driver of '${name}' prints nothing`);
  return result;
};

export const openFiles: OpenFiles = async (configPath, name) => {
  const { openFiles: open } = await import('./brands/edited-files.ts');
  const driver = await localDriver(configPath, name);
  const opened = await explained(async () => {
    const files = await driver.files?.(AbortSignal.timeout(PRINT_MS));
    return files && open(files);
  });
  if (opened === undefined) return undefined;
  const { check, write, undo, create, load } = opened.editor;
  const editor: FileEditor = {
    ...opened.editor,
    check: (...given) => explained(() => check(...given)),
    write: (...given) => explained(() => write(...given)),
    undo: () => explained(undo),
    create: (...given) => explained(() => create(...given)),
    load: () => explained(load),
  };
  return { ...opened, editor };
};

/** How long the name servers may take to name their files. */
const NAME_MS = 5_000;

export const formerFiles: FormerFiles = async (configPath) => {
  const { DRIVERS } = await import('./brands/drivers.ts');
  const { formerFilesOf } = await import('./delivery/configuration-check.ts');
  const signal = AbortSignal.timeout(NAME_MS);
  const found = await Promise.all(
    (await localServers(configPath)).map(async ({ driver: brand, local }) => {
      const driver = DRIVERS[brand]?.create(local, '');
      return driver === undefined ? [] : formerFilesOf(driver, signal).catch(() => []);
    }),
  );
  return [...new Set(found.flat())];
};

async function localDriver(configPath: string | undefined, name: string) {
  const { DRIVERS } = await import('./brands/drivers.ts');
  const { driver: brand, local } = await localServer(configPath, name);
  const driver = DRIVERS[brand]?.create(local, '');
  if (driver === undefined) throw new TypeError(`No driver is named '${brand}'`);
  return driver;
}

/** Runs `work`. Translates a `DriverError` to a `CommandError`. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  const { DriverError } = await import('./brands/driver.ts');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const exitCode = error.code === 'refused_by_server' ? EXIT.refused : EXIT.unreachable;
    throw new CommandError(exitCode, error.message, error.hint, error);
  }
}

/**
 * Prints the effective configuration. With `connect`, also connects to the database and Keystone,
 * and prints the outcome as comments. Throws `CommandError` with the problems of all failed checks.
 */
export async function checkConfig(configPath: string | undefined, connect: boolean): Promise<void> {
  const { describeNameServers, localProblems } =
    await import('./delivery/reconciler/registration.ts');
  const config = configFrom(configPath, (read) => [
    ...fileProblems(read),
    ...localProblems(read.nameServers ?? []),
  ]);
  const { formatYaml } = await import('./cli/output/yaml.ts');
  const nameServers = config.nameServers && describeNameServers(config.nameServers);
  process.stdout.write(formatYaml({ ...describeConfig(config), nameServers }));
  if (!connect) return;
  const checks = await checkConnections(config);
  for (const { works, message } of checks)
    if (works) process.stdout.write(`# ${plainText(message)}\n`);
  const problems = checks.flatMap(({ works, message }) =>
    works ? [] : [`  - ${plainText(message)}`],
  );
  if (problems.length > 0)
    throw new CommandError(
      EXIT.refused,
      'The service cannot work with this configuration:',
      problems.join('\n'),
    );
}

export async function backUp(configPath: string | undefined, target: string): Promise<void> {
  const config = configFrom(configPath);
  const [{ assertExists, parseDatabase }, { backUpSqlite }, { recordBackup }] = await Promise.all([
    import('./sql/databases.ts'),
    import('./sql/sqlite/backup.ts'),
    import('./backup/record-backup.ts'),
  ]);
  const { kind, location } = parseDatabase(config.database);
  if (kind.shared)
    throw new CommandError(
      EXIT.refused,
      'Cannot back up PostgreSQL with this command. Use the tools of PostgreSQL, such as pg_dump.',
    );
  const masterKeys = await forOperator(() => {
    assertExists(config.database);
    return endedBySignal((signal) => backUpSqlite(location, target, signal));
  });
  try {
    recordBackup(location);
  } catch (error) {
    process.stderr.write(
      `Warning: the audit trail has no record of this backup: ${faultOf(error).message}\n`,
    );
  }
  if (masterKeys.length > 0)
    process.stdout.write(
      `The backup needs master key ${masterKeys.join(', ')}, but does not contain this key.\n`,
    );
}

/**
 * Replaces the database with a backup, after `ask` confirms. With `revive`, tokens and keys that were
 * deleted since become valid again. Returns the text to print.
 */
export async function restore(
  configPath: string | undefined,
  source: string,
  revive: boolean,
  ask: Ask,
): Promise<string> {
  const { restoreDatabase } = await import('./backup/restore-database.ts');
  const { CHANGE_HOOKS: hooks } = await import('./change-hooks.ts');
  const { createClock } = await import('./clock.ts');
  return forOperator(() =>
    endedBySignal((signal) => {
      const stopped = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
      stopped.catch(() => undefined);
      const dialogue = {
        print: (lines: readonly string[]) =>
          void process.stdout.write(lines.map((line) => `${plainText(line)}\n`).join('')),
        async ask(question: string) {
          await Promise.race([ask(question), stopped]);
          signal.throwIfAborted();
        },
        revive,
      };
      const shared = { clock: createClock(), hooks };
      return restoreDatabase(configFrom(configPath), source, dialogue, shared);
    }),
  );
}

/**
 * Runs `work` with a signal that aborts on SIGINT or SIGTERM. After `work` has cleaned up, the
 * received signal ends the process.
 */
async function endedBySignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let received: NodeJS.Signals | undefined;
  const stop = (name: NodeJS.Signals) => {
    received = name;
    controller.abort(new Error(`Stopped by ${name}`));
  };
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop);
    if (received !== undefined) process.kill(process.pid, received);
  }
}

export async function newMasterKey(file: string): Promise<string> {
  const { addMasterKey, readMasterKeyFile } = await import('./secrets/store/master-keys.ts');
  const { existsSync } = await import('node:fs');
  const problem = existsSync(file) ? readMasterKeyFile(file).problem : undefined;
  if (problem !== undefined) throw new CommandError(EXIT.refused, problem);
  return addMasterKey(file).id;
}

export async function maintainSecrets(
  work: SecretWork,
  configPath: string | undefined,
  ask: Ask,
): Promise<string> {
  const [{ acceptContent, resetDatabase, scrubDatabase }, { createClock }] = await Promise.all([
    import('./secrets/store/secret-maintenance.ts'),
    import('./clock.ts'),
  ]);
  const works = { scrub: scrubDatabase, reset: resetDatabase, accept: acceptContent };
  return forOperator(() => works[work](configFrom(configPath), createClock(), ask));
}

export async function migrate(configPath: string | undefined): Promise<void> {
  const { database, databasePool } = configFrom(configPath);
  const [{ openDatabase }, { createClock }, { NEWEST_SCHEMA }] = await Promise.all([
    import('./database/open-database.ts'),
    import('./clock.ts'),
    import('./sql/migrate.ts'),
  ]);
  await forOperator(async () => {
    const { store, steps, record } = await openDatabase(database, databasePool, createClock());
    try {
      if (steps.length > 0) await record({ action: 'database:migrate', detail: { steps } });
    } finally {
      await store.close();
    }
    for (const step of steps) process.stdout.write(`Applied schema step ${step}\n`);
    const unchanged = steps.length === 0 ? ' Nothing was changed.' : '';
    process.stdout.write(
      `The database '${withoutPassword(database)}' has schema ${NEWEST_SCHEMA}, the newest of this version.${unchanged}\n`,
    );
  });
}

export async function copyDatabase(
  configPath: string | undefined,
  copy: CopyOptions,
): Promise<void> {
  assertTwoDatabases(copy.from, copy.to);
  const { copyDatabase: run } = await import('./backup/copy-database.ts');
  const { createClock } = await import('./clock.ts');
  const { LOG_STORE: logs } = await import('./uses/store.ts');
  const warn = (text: string) => void process.stderr.write(`${text}\n`);
  const clock = createClock();
  process.stdout.write(
    await forOperator(() => run(configFrom(configPath), { ...copy, logs }, clock, warn)),
  );
}

function assertTwoDatabases(from: string, to: string): void {
  const invalid = [from, to].find((setting) => parseDatabaseUrl(setting) === undefined);
  if (invalid !== undefined)
    throw new CommandError(
      EXIT.usage,
      `Invalid database '${withoutPassword(invalid)}'. Use sqlite:PATH or postgres://USER@HOST/NAME.`,
    );
  if (from === to)
    throw new CommandError(
      EXIT.usage,
      `--from and --to are the same database '${withoutPassword(from)}'. Use two different databases.`,
    );
}
