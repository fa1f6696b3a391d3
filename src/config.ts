import { readFileSync } from 'node:fs';
import { parse, parseDocument, LineCounter } from 'yaml';
import type { KeystoneSettings } from './auth/keystone.ts';
import type { MethodName } from './auth/methods.ts';
import { formatYaml, plainText } from './cli/plain-text.ts';
import type { TldRule } from './domain/settings.ts';
import { isDatabase, parseDatabase, withoutPassword } from './store/databases.ts';
import type { DatabaseSettings } from './store/sql.ts';
import { fileVariableOf, OPTIONS, variableOf, type Option } from './options.ts';

/** The service's configuration. `check-config` prints it, `docs/configuration.md` explains it. */
export interface Config {
  readonly listen: string;
  readonly publicUrl: string | undefined;
  readonly database: string;
  readonly databasePool: DatabaseSettings;
  readonly workers: number;
  readonly adminToken: string | undefined;
  readonly tls: {
    readonly cert: string | undefined;
    readonly key: string | undefined;
    readonly handshakeTimeoutSeconds: number;
    readonly hstsMaxAgeSeconds: number;
  };
  readonly auth: {
    readonly insufficientRightsStatus: 401 | 403;
    readonly method: readonly MethodName[];
    readonly keystone: KeystoneSettings;
  };
  readonly policy: Readonly<Record<string, readonly string[]>>;
  readonly api: {
    readonly defaultLimit: number;
    readonly platform: string;
    readonly maxBodyBytes: number;
    readonly maxBodyBytesInFlight: number;
    readonly maxHeaderBytes: number;
    readonly requestTimeoutSeconds: number;
    readonly responseTimeoutSeconds: number;
    readonly maxUnsentBytes: number;
    readonly maxConnections: number;
    readonly maxConnectionsPerAddress: number;
    readonly scanTimeoutSeconds: number;
    readonly maxPageBytes: number;
    readonly trustProxyHeaders: boolean;
  };
  readonly cors: { readonly allowedOrigins: readonly string[] };
  readonly rateLimit: {
    readonly requestsPerSecond: number;
    readonly burst: number;
    readonly anonymousRequestsPerSecond: number;
    readonly anonymousBurst: number;
  };
  readonly tsigkeys: { readonly strict: boolean; readonly requireResource: boolean };
  readonly zones: { readonly tldRule: TldRule; readonly perProject: number };
  readonly log: { readonly level: string };
  readonly stopGraceSeconds: number;
}

/** The configuration has something wrong with it; `problems` lists everything. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${plainText(problem)}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Tree = Record<string, unknown>;

/** The variables of all settings, and of files with the values of secrets. */
const VARIABLES = new Set(OPTIONS.flatMap((option) => [variableOf(option), fileVariableOf(option)]));

/** Variables that begin like ours and are not settings: the command line's own, and those Kubernetes sets for a service named tsigil. */
const FOREIGN_VARIABLES = /^TSIGIL_(?:CONFIG|URL|TOKEN|SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP)(?:_\w+)?)?)$/;

/**
 * Reads the configuration: defaults, then the YAML file at `path`, then the environment. Throws `ConfigError`
 * with everything that is wrong: unknown keys and variables, bad values, a file that cannot be read.
 */
export function readConfig(path: string | undefined, environment: NodeJS.ProcessEnv): Config {
  const problems: string[] = [];
  const entries = path === undefined ? [] : flatten(readFile(path, problems));
  const fromFile = Object.fromEntries(entries);
  const known = new Set(OPTIONS.map(({ key }) => key));
  for (const key of Object.keys(fromFile)) if (!known.has(key)) problems.push(`${path}: '${key}' is not a setting`);
  const doubled = entries.map(([key]) => key).filter((key, index, keys) => keys.indexOf(key) !== index);
  for (const key of doubled) problems.push(`${path}: '${key}' is given twice`);
  for (const name of Object.keys(environment)) {
    if (name.startsWith('TSIGIL_') && !VARIABLES.has(name) && !FOREIGN_VARIABLES.test(name))
      problems.push(`${name} is not the variable of a setting`);
  }
  const values = Object.fromEntries(OPTIONS.map((option) => [option.key, readOption(option, fromFile, environment, path, problems)]));
  problems.push(...combinationProblems(values));
  if (problems.length > 0) throw new ConfigError(problems);
  return freeze(unflatten(values)) as unknown as Config;
}

/** The variables of `environment` that are settings or begin like them. */
export function settingVariables(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment).filter((name) => name.startsWith('TSIGIL_') || VARIABLES.has(name));
}

/** Settings that need each other. */
const TOGETHER: readonly (readonly string[])[] = [
  ['tls.cert', 'tls.key'],
  ['auth.keystone.username', 'auth.keystone.password', 'auth.keystone.project'],
  ['auth.keystone.applicationCredentialId', 'auth.keystone.applicationCredentialSecret'],
];

/** What is wrong with settings that are right each by itself. */
function combinationProblems(values: Tree): string[] {
  const isSet = (key: string) => values[key] !== undefined;
  const problems = TOGETHER.filter((keys) => keys.some(isSet) && !keys.every(isSet)).map(
    (keys) => `${new Intl.ListFormat('en-GB').format(keys.map((key) => `'${key}'`))} must be set together`,
  );
  if ((values['auth.method'] as string[]).includes('keystone') && !isSet('auth.keystone.url'))
    problems.push("'auth.keystone.url' must be set for the method 'keystone'");
  if (isSet('auth.keystone.username') && isSet('auth.keystone.applicationCredentialId'))
    problems.push("'auth.keystone.username' and 'auth.keystone.applicationCredentialId' exclude each other");
  if (Number(values.workers) > 1 && isDatabase(values.database) && !parseDatabase(values.database as string).kind.shared) {
    problems.push("'workers' above 1 needs a database that processes can share: postgres");
  }
  return problems;
}

/** The effective configuration as YAML, with secrets hidden. */
export function describeConfig(config: Config): string {
  const values = flatten(config as unknown as Tree).map(([key, value]): [string, unknown] => {
    const hidden = value !== undefined && OPTIONS.find((option) => option.key === key)?.secret === true;
    return [key, hidden ? '(hidden)' : typeof value === 'string' ? withoutPassword(value) : value];
  });
  return formatYaml(unflatten(Object.fromEntries(values.filter(([, value]) => value !== undefined))));
}

function readFile(path: string, problems: string[]): Tree {
  try {
    return readYaml(path, readFileSync(path, 'utf8'), problems);
  } catch (error) {
    problems.push(`${path}: ${(error as Error).message}`);
    return {};
  }
}

/** The messages of the YAML parser quote the file, which may hold a secret: only its codes and positions go on. */
function readYaml(path: string, text: string, problems: string[]): Tree {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    const { line, col } = lines.linePos(pos[0]);
    problems.push(`${path}: line ${line}, column ${col} is not valid YAML (${code.toLowerCase().replaceAll('_', ' ')})`);
  }
  if (document.errors.length > 0) return {};
  try {
    const tree: unknown = document.toJS() ?? {};
    if (typeof tree === 'object' && !Array.isArray(tree)) return tree as Tree;
    problems.push(`${path}: must be a map from settings to values`);
  } catch {
    problems.push(`${path}: an alias (*name) stands for nothing; a value that begins with * must be quoted`);
  }
  return {};
}

/** A value as it was given, and what messages call its source. */
interface Given {
  readonly value: unknown;
  readonly source: string;
}

function readOption(option: Option, fromFile: Tree, environment: NodeJS.ProcessEnv, path: string | undefined, problems: string[]): unknown {
  const given = fromEnvironment(option, environment, problems) ?? { value: fromFile[option.key], source: `${path}: '${option.key}'` };
  if (given.value === undefined || given.value === null) return option.default;
  const read = option.read(given.value);
  if ('value' in read) return read.value;
  problems.push(`${given.source} ${read.problem}`);
  return option.default;
}

/** The value that the environment gives an option, itself or as the name of a file. An empty variable counts as unset. */
function fromEnvironment(option: Option, environment: NodeJS.ProcessEnv, problems: string[]): Given | undefined {
  const variable = variableOf(option);
  const fileVariable = fileVariableOf(option);
  const text = environment[variable] || undefined;
  const file = fileVariable === undefined ? undefined : environment[fileVariable] || undefined;
  if (text !== undefined && file !== undefined) {
    problems.push(`${variable} and ${fileVariable} exclude each other: set one of them`);
    return undefined;
  }
  if (file !== undefined) return readSecretFile(file, `${fileVariable}: '${file}'`, problems);
  return text === undefined ? undefined : { value: readVariable(option, text), source: variable };
}

/** The content of a file without its final newline. No message shows it. */
function readSecretFile(path: string, source: string, problems: string[]): Given | undefined {
  try {
    const value = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)).replace(/\r?\n$/, '');
    if (value !== '') return { value, source: `${source}: the content` };
    problems.push(`${source} is empty`);
  } catch (error) {
    problems.push(error instanceof TypeError ? `${source} is not text in UTF-8` : `${source} cannot be read: ${(error as Error).message}`);
  }
  return undefined;
}

/** Environment values are text; numbers, booleans, lists and maps are read as YAML, as they would be in the file. */
function readVariable(option: Option, text: string): unknown {
  if ('value' in option.read(text)) return text;
  try {
    const value: unknown = parse(text, { logLevel: 'error' }); // a warning would quote the text
    return typeof value === 'string' ? text : value;
  } catch {
    return text;
  }
}

/** Nested maps as a list of dotted keys and values. A map that is itself a setting's value stays whole; an empty section is none. */
function flatten(tree: Tree, prefix = ''): [key: string, value: unknown][] {
  return Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    const path = prefix + key;
    const isSection = typeof value === 'object' && OPTIONS.some((option) => option.key.startsWith(`${path}.`));
    return isSection ? flatten((value ?? {}) as Tree, `${path}.`) : [[path, value]];
  });
}

function unflatten(values: Tree): Tree {
  const tree: Tree = {};
  for (const [key, value] of Object.entries(values)) {
    const path = key.split('.');
    const last = path.pop() ?? key;
    const section = path.reduce((node, name) => (node[name] ??= {}) as Tree, tree);
    section[last] = value;
  }
  return tree;
}

function freeze<T extends object>(tree: T): T {
  for (const value of Object.values(tree)) if (typeof value === 'object' && value !== null) freeze(value as object);
  return Object.freeze(tree);
}
