import { CommandError, EXIT } from './cli/output/command-error.ts';
import { plainText } from './cli/output/plain-text.ts';
import { startFileProblems } from './config/checks.ts';
import { ConfigError, readConfig } from './config/config.ts';
import { settingVariables, type Environment } from './config/environment.ts';
import type { Config } from './config/options.ts';
import { ServiceError } from './core/errors.ts';
import { describeFault, faultOf } from './net/faults.ts';
import { readWholeFile } from './net/files.ts';

/** Translates a `ServiceError` or `ConfigError` of `work` to a `CommandError`. */
export async function forOperator<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigError) throw invalidConfig(error);
    if (!(error instanceof ServiceError)) throw error;
    throw new CommandError(EXIT.refused, reasonOf(error), undefined, error);
  }
}

/** Throws `CommandError` with all problems, including those that `furtherProblems` returns. */
export function configFrom(
  path: string | undefined,
  furtherProblems?: (config: Config) => readonly string[],
): Config {
  try {
    return readConfig(path, process.env, furtherProblems);
  } catch (error) {
    throw error instanceof ConfigError ? invalidConfig(error) : error;
  }
}

function invalidConfig(error: ConfigError): CommandError {
  const problems = error.problems.map((problem) => `  - ${plainText(problem)}`);
  return new CommandError(
    EXIT.usage,
    'The configuration is not valid:',
    problems.join('\n'),
    error,
  );
}

/**
 * Returns a function that reads the configuration at each call, with the environment of the first
 * call. The first call removes all settings from the environment, so that child processes do not
 * inherit secrets. Throws `ConfigError` with all problems, including those of `furtherProblems`. A
 * later call rejects an empty file, because another program may still be writing the file.
 */
export function configReader(
  path: string | undefined,
  furtherProblems: (config: Config) => readonly string[],
): () => Config {
  let environment: Environment | undefined;
  return () => {
    const isRepeated = environment !== undefined;
    environment ??= { ...process.env };
    const file = path ?? environment.TSIGIL_CONFIG ?? '';
    if (isRepeated && isBlank(file))
      throw new ConfigError([`'${file}' is empty. Send SIGHUP again when the file is complete`]);
    const config = readConfig(path, environment, (read) => [
      ...startFileProblems(read),
      ...furtherProblems(read),
    ]);
    for (const name of settingVariables(process.env)) Reflect.deleteProperty(process.env, name);
    return config;
  };
}

function isBlank(file: string): boolean {
  try {
    return file !== '' && readWholeFile(file).toString().trim() === '';
  } catch {
    return false; // `readConfig` reports why the file cannot be read
  }
}

/** Changes nothing. Returns what works or what is wrong, a message for each check. */
export async function checkConnections(config: Config): Promise<ConnectionCheck[]> {
  const { checkDatabase } = await import('./database/check-database.ts');
  const checks = [outcomeOf(`'database'`, () => checkDatabase(config))];
  if (config.auth.method.includes('keystone')) {
    const { checkKeystone } = await import('./check-keystone.ts');
    checks.push(outcomeOf(`'auth.keystone'`, () => checkKeystone(config.auth.keystone)));
  }
  return Promise.all(checks);
}

interface ConnectionCheck {
  readonly works: boolean;
  readonly message: string;
}

async function outcomeOf(setting: string, check: () => Promise<string>): Promise<ConnectionCheck> {
  try {
    return { works: true, message: await check() };
  } catch (error) {
    return { works: false, message: `${setting}: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ServiceError)) return faultOf(error).message;
  const { cause } = error.details;
  return cause instanceof Error ? `${error.message} (${describeFault(cause)})` : error.message;
}

/** A name server of this machine, with the options of its driver. */
interface LocalServer {
  readonly name: string;
  readonly driver: string;
  readonly local: unknown;
}

/** Reads a configuration file of the service or of an agent. Throws `CommandError`. */
export async function localServers(
  configPath: string | undefined,
): Promise<readonly LocalServer[]> {
  const { isAgentFile, readAgentFile } = await import('./config/agent-file.ts');
  const { agentProblems } = await import('./delivery/agents/start.ts');
  const { localProblems } = await import('./delivery/reconciler/registration.ts');
  return forOperator(() => {
    if (configPath !== undefined && isAgentFile(configPath)) {
      const { nameServer: name, driver, local } = readAgentFile(configPath, agentProblems);
      return [{ name, driver, local }];
    }
    const problems = ({ nameServers = [] }: Config) => localProblems(nameServers);
    return configFrom(configPath, problems).nameServers ?? [];
  });
}

/** Returns a name server by its name, from such a file. Throws `CommandError`. */
export async function localServer(
  configPath: string | undefined,
  wanted: string,
): Promise<LocalServer> {
  const servers = await localServers(configPath);
  const found = servers.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  if (found !== undefined) return found;
  const names = servers.map(({ name }) => `'${name}'`).join(', ');
  throw new CommandError(
    EXIT.usage,
    `The configuration has no name server '${wanted}'`,
    names === ''
      ? "Set --config to the configuration of the service on this machine, with 'nameServers', or of the agent."
      : `Use one of: ${names}.`,
  );
}

/**
 * Runs the agent of a name server until SIGTERM or SIGINT. With `isCheck`, only prints which
 * requirements of the agent are met. Throws `CommandError` if a requirement is not met.
 */
export async function runAgent(file: string, isCheck: boolean): Promise<void> {
  const { agentProblems, checkAgent, startAgent } = await import('./delivery/agents/start.ts');
  const { readAgentFile } = await import('./config/agent-file.ts');
  const settings = await forOperator(() => readAgentFile(file, agentProblems));
  if (!isCheck) {
    const stopping = new AbortController();
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort());
    const { createLog } = await import('./log.ts');
    const { createLogReaderOf: logReaderOf } = await import('./uses/log-reader.ts');
    const { signal } = stopping;
    return startAgent(settings, { log: createLog('info'), logReaderOf, signal });
  }
  const requirements = await checkAgent(settings);
  for (const { requirement, ok, problem, hint } of requirements)
    process.stdout.write(
      plainText([ok ? 'ok' : 'NOT OK', requirement, problem, hint].filter(Boolean).join(' ')) +
        '\n',
    );
  const unmet = requirements.filter(({ ok }) => !ok).length;
  if (unmet > 0)
    throw new CommandError(
      EXIT.refused,
      `${unmet} of ${requirements.length} requirements are not met`,
    );
}
