#!/usr/bin/env node
import { pino, stdTimeFunctions } from 'pino';
import { CommandError, EXIT } from './cli/errors.ts';
import { runCommand } from './cli/program.ts';
import { ConfigError, describeConfig, readConfig, type Config } from './config.ts';
import { ServiceError } from './domain/errors.ts';
import { startService, VERSION } from './service.ts';
import { backUpSqlite } from './store/sqlite.ts';

// Whoever reads the output may stop, as `head` does.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

process.exitCode = await runCommand(
  process.argv.slice(2),
  VERSION,
  { serve, checkConfig, backUp },
  { environment: process.env, now: Date.now, out: process.stdout, err: process.stderr },
);

/** Runs `work` so that its failure tells an operator all that is known: what callers are told, and what happened underneath. */
async function forOperator<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { cause } = error.details;
    throw new CommandError(EXIT.refused, cause instanceof Error ? `${error.message} (${cause.message})` : error.message, undefined, error);
  }
}

function configFrom(path: string | undefined): Config {
  try {
    return readConfig(path, process.env);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(EXIT.usage, error.message);
    throw error;
  }
}

/** Runs the service until a signal; a second signal ends it at once. Log lines go to standard output, words for people to standard error. */
async function serve(configPath: string | undefined): Promise<void> {
  const config = configFrom(configPath);
  const log = pino({
    level: config.log.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
  const stopped = new Promise<string>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => resolve(signal));
  });
  const service = await forOperator(() => startService(config, { log }));
  if (service.tokenFile !== undefined) process.stderr.write(welcome(service.url, service.tokenFile));
  log.info({ url: service.url, version: VERSION, node: process.version }, 'listening');
  log.info({ signal: await stopped }, 'stopping');
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(EXIT.refused));
  await service.close();
  log.info({}, 'stopped');
}

function welcome(url: string, tokenFile: string): string {
  return `
An administrator token was made and written to ${tokenFile}
Try it:

  curl -H "X-Auth-Token: $(cat '${tokenFile.replaceAll("'", `'\\''`)}')" ${url}/v2/tlds

`;
}

function checkConfig(configPath: string | undefined): void {
  process.stdout.write(describeConfig(configFrom(configPath)));
}

async function backUp(configPath: string | undefined, target: string): Promise<void> {
  const location = configFrom(configPath).database.replace(/^sqlite:/, '');
  await forOperator(() => backUpSqlite(location, target));
}
