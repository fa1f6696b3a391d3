import type { ServiceDefaults } from '../cli/output/terminal.ts';
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf } from '../net/faults.ts';
import { readWholeFile } from '../net/files.ts';
import { parseDatabaseUrl } from '../core/text/database-url.ts';
import { ConfigError, readConfig } from './config.ts';
import type { Environment } from './environment.ts';
import { variableOf } from './option.ts';
import { OPTIONS, TABLE, type Config } from './options.ts';

/** The two files of an installed service, and the folder in which the service runs. */
interface Installation {
  readonly config: string;
  readonly environment: string;
  readonly folder: string;
}

const INSTALLATION: Installation = {
  config: '/etc/tsigil/tsigil.yaml',
  environment: '/etc/tsigil/environment',
  folder: '/var/lib/tsigil',
};

/** The token file of a service that was started in this folder with the default configuration. */
const TOKEN_FILE_HERE = 'var/admin.token';

const VARIABLES = variablesOf('database', 'listen');

/** The variables of an installed service that determine its address and its folder. */
const INSTALLED_VARIABLES = variablesOf('database', 'listen', 'tls.cert', 'tls.key');

function variablesOf(...keys: readonly string[]): string[] {
  return OPTIONS.filter(({ key }) => keys.includes(key)).map(variableOf);
}

/**
 * Returns the service that the environment describes, as in a container. Otherwise returns the
 * installed service, unless a service was started in this folder. Returns undefined if there is no
 * service, or if its configuration is not valid.
 */
export function findLocalService(
  environment: Environment,
  installation = INSTALLATION,
): ServiceDefaults | undefined {
  const path = environment.TSIGIL_CONFIG || undefined;
  if (path !== undefined || VARIABLES.some((name) => environment[name])) {
    return path !== undefined && resolve(path) === installation.config
      ? readInstalled(installation, environment)
      : readService(path, environment, '.');
  }
  return existsSync(TOKEN_FILE_HERE) ? undefined : readInstalled(installation, environment);
}

/**
 * Returns the installed service. The caller's variables override the variables in the service's
 * environment file. If the caller may not read the configuration, returns the service as the package
 * configures it, so that the error about the token file states what the caller may not read.
 */
function readInstalled(
  { config, environment: file, folder }: Installation,
  environment: Environment,
): ServiceDefaults | undefined {
  try {
    statSync(config);
  } catch (error) {
    return codeOf(error) === 'EACCES'
      ? { url: `http://${TABLE.listen.default}`, tokenFile: resolve(folder, 'admin.token') }
      : undefined;
  }
  const given = Object.entries(environment).filter(([, value]) => value);
  return readService(config, { ...readVariables(file), ...Object.fromEntries(given) }, folder);
}

/**
 * Returns `INSTALLED_VARIABLES` from a file for systemd's `EnvironmentFile`. Returns no variable if
 * the caller cannot read the file.
 */
function readVariables(file: string): Environment {
  let text: string;
  try {
    text = readWholeFile(file).toString();
  } catch {
    return {};
  }
  const lines = Array.from(text.matchAll(/^[ \t]*(\w+)=[ \t]*(.*?)[ \t]*$/gm));
  return Object.fromEntries(
    lines.flatMap(([, name = '', value = '']) =>
      INSTALLED_VARIABLES.includes(name) ? [[name, value.replace(/^(["'])(.*)\1$/, '$2')]] : [],
    ),
  );
}

/** `folder` is the folder in which the service runs. */
function readService(
  path: string | undefined,
  environment: Environment,
  folder: string,
): ServiceDefaults | undefined {
  try {
    const config = readConfig(path, environment);
    return { url: urlOf(config), tokenFile: resolve(folderOf(config, folder), 'admin.token') };
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

function folderOf({ database }: Config, folder: string): string {
  const parts = parseDatabaseUrl(database);
  return parts?.scheme === 'sqlite'
    ? dirname(resolve(folder, parts.location))
    : resolve(folder, 'var');
}

/** Returns the URL at which a client on this machine reaches the service. */
function urlOf({ listen, tls }: Config): string {
  const host = listen.replace(/^(?:0\.0\.0\.0|\[::\]):/, '127.0.0.1:');
  return `${tls.cert === undefined ? 'http' : 'https'}://${host}`;
}
