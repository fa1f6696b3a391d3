import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suggestion } from '../core/text/suggestion.ts';
import { faultOf } from '../net/faults.ts';
import { yaml } from '../cli/output/yaml.ts';
import { fileVariableOf, variableOf, type Option } from './option.ts';
import { OPTIONS } from './options.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a setting before it is parsed, and the name of its source in messages. */
interface Given {
  readonly value: unknown;
  readonly source: string;
}

const VARIABLES = new Set(
  OPTIONS.flatMap((option) => [variableOf(option), fileVariableOf(option)]),
);

const NAMES = [...VARIABLES].flatMap((name) => name ?? []);

/**
 * Variables that begin with `TSIGIL_` and are not settings. Commands read these variables, or
 * Kubernetes sets them for a service named tsigil.
 */
const FOREIGN_VARIABLES =
  /^TSIGIL_(?:CONFIG|URL|TOKEN|CACERT|PROFILE|SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP)(?:_\w+)?)?)$/;

/** Returns the names in `environment` that set options or begin with `TSIGIL_`. */
export function settingVariables(environment: Environment): string[] {
  return Object.keys(environment).filter(
    (name) => name.startsWith('TSIGIL_') || VARIABLES.has(name),
  );
}

export function variableProblems(environment: Environment): string[] {
  return settingVariables(environment)
    .filter((name) => !VARIABLES.has(name) && !FOREIGN_VARIABLES.test(name))
    .map((name) => `Unknown environment variable ${name}${suggestion(name, NAMES)}`);
}

/**
 * Returns the value of an option in the environment, directly or from a file that a variable names.
 * Returns undefined if no variable sets the option. An empty variable counts as unset. Adds a
 * problem if both variables are set, or if the file cannot be used.
 */
export function readVariable(
  option: Option,
  environment: Environment,
  problems: string[],
): Given | undefined {
  const variable = variableOf(option);
  const fileVariable = fileVariableOf(option);
  const text = environment[variable] ?? '';
  const file = fileVariable === undefined ? '' : (environment[fileVariable] ?? '');
  if (text !== '' && file !== '') {
    problems.push(`${variable} and ${fileVariable} exclude each other. Set one of them`);
    return undefined;
  }
  if (file !== '') {
    const found = readSecretFile(file, sourceOf(fileVariable ?? '', file), problems);
    return found === undefined ? undefined : { ...found, value: valueOf(option, found.value) };
  }
  return text === '' ? undefined : { value: valueOf(option, text), source: variable };
}

/** Returns the path of the credential, or undefined if systemd passed no such credential. */
export function readCredential(
  { credential }: Option,
  { CREDENTIALS_DIRECTORY: folder }: Environment,
): Given | undefined {
  if (credential === undefined || folder === undefined) return undefined;
  const value = join(folder, credential);
  return existsSync(value) ? { value, source: `The systemd credential '${value}'` } : undefined;
}

const MAX_SECRET_BYTES = 65_536;

/**
 * Returns the name of a variable and the path of its file, for messages. Omits a path without a
 * slash, because the operator may have set the secret itself by mistake.
 */
function sourceOf(variable: string, file: string): string {
  return file.includes('/') ? `${variable}: '${file}'` : variable;
}

/** Returns the content of a file without its final newline. No message contains this content. */
function readSecretFile(
  path: string,
  source: string,
  problems: string[],
): (Given & { readonly value: string }) | undefined {
  try {
    const file = statSync(path);
    if (!(file.isFile() || file.isDirectory()) || file.size > MAX_SECRET_BYTES) {
      problems.push(`${source} must name a file of at most ${MAX_SECRET_BYTES} bytes`);
      return undefined;
    }
    const value = new TextDecoder('utf-8', { fatal: true })
      .decode(readFileSync(path))
      .replace(/\r?\n$/, '');
    if (value !== '') return { value, source: `${source}: the content` };
    problems.push(`${source} is empty`);
  } catch (error) {
    problems.push(
      error instanceof TypeError
        ? `${source} is not valid UTF-8 text`
        : `${source} cannot be read: ${faultOf(error).message}`,
    );
  }
  return undefined;
}

/** Parses `text` as YAML, as in the configuration file, unless the setting is text. */
function valueOf(option: Option, text: string): unknown {
  if (option.kind.schema.type === 'string') return text;
  try {
    const value: unknown = yaml().parse(text, { logLevel: 'error' }); // a warning would quote the text
    return value;
  } catch {
    return text;
  }
}
