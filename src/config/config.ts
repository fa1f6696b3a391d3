import { withoutPassword } from '../core/text/database-url.ts';
import { combinationProblems } from './checks.ts';
import { readCredential, readVariable, variableProblems, type Environment } from './environment.ts';
import { quotingProblem, readConfigFile } from './file.ts';
import { checkableServers } from './name-server-options.ts';
import { defaultOf, mapOptions, valuesOf, type Option } from './option.ts';
import { TABLE, valueAt, type Config } from './options.ts';

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['The configuration is not valid:', ...problems].join('\n  - '));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Returns the frozen configuration. The environment overrides the YAML file at `path`. The file
 * overrides systemd credentials and defaults. Throws `ConfigError` with all problems: unknown keys
 * and variables, invalid values, unreadable files, and what `furtherProblems` returns.
 */
export function readConfig(
  path: string | undefined,
  environment: Environment,
  furtherProblems: (config: Config) => readonly string[] = () => [],
): Config {
  const problems: string[] = [];
  const fromFile = path === undefined ? new Map<string, unknown>() : readConfigFile(path, problems);
  problems.push(...variableProblems(environment));
  let invalidServers: unknown;
  const read = <T>(option: Option<T>, otherwise: T, found: string[]): T => {
    const inFile = fromFile.get(option.key) ?? undefined; // null counts as unset
    const given =
      readVariable(option, environment, found) ??
      (inFile === undefined
        ? readCredential(option, environment)
        : { value: inFile, source: `${path}: '${option.key}'` });
    if (given === undefined) return otherwise;
    const parsed = option.kind.parse(given.value);
    if ('value' in parsed) return parsed.value;
    if (option.key === 'nameServers') invalidServers = given.value;
    if (parsed.problems !== undefined)
      found.push(...parsed.problems.map(({ message }) => `${given.source}: ${message}`));
    else
      found.push(`${given.source} ${quotingProblem(option.kind, given.value) ?? parsed.problem}`);
    return otherwise;
  };
  const compatibility = read({ ...TABLE.compatibility, key: 'compatibility' }, 'none', []);
  const config = valuesOf(TABLE, (option) =>
    read(option, defaultOf(option, compatibility), problems),
  );
  const { nameServers = checkableServers(invalidServers) } = config;
  problems.push(...combinationProblems(config), ...furtherProblems({ ...config, nameServers }));
  if (problems.length > 0) throw new ConfigError(problems);
  freeze(config);
  return config;
}

/** Returns what `check-config` prints: hides secrets, and omits settings without a value. */
export function describeConfig(config: Config): Readonly<Record<string, unknown>> {
  return mapOptions(TABLE, ({ key, secret }) => {
    const value = valueAt(config, key);
    if (secret && value !== undefined) return '(hidden)';
    return key === 'database' && typeof value === 'string' ? withoutPassword(value) : value;
  });
}

/** Freezes a value and all its members, recursively. */
export function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.values(value).forEach(freeze);
  Object.freeze(value);
}
