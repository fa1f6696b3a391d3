import { yaml } from '../cli/output/yaml.ts';
import { isObject, type Kind } from '../core/field.ts';
import { suggestion } from '../core/text/suggestion.ts';
import { looksLikeName } from '../core/text/token-form.ts';
import { readWholeFile } from '../net/files.ts';
import { faultOf } from '../net/faults.ts';
import { OPTIONS } from './options.ts';

/** Returns values by the keys of their settings. Adds all problems except invalid values. */
export function readConfigFile(path: string, problems: string[]): ReadonlyMap<string, unknown> {
  const known = new Set(OPTIONS.map(({ key }) => key));
  const values = new Map<string, unknown>();
  for (const { key, value, name, place } of flatten(readTree(path, problems))) {
    if (!known.has(key) && !looksLikeName(name))
      problems.push(`${path}: unknown setting: ${place}`); // the name may be a secret
    else if (!known.has(key))
      problems.push(`${path}: unknown setting '${key}'${suggestion(key, known)}`);
    else if (values.has(key)) problems.push(`${path}: '${key}' is set twice`);
    else values.set(key, value);
  }
  return values;
}

/** Returns the problem of text that YAML reads as a number or a boolean, otherwise undefined. */
export function quotingProblem(kind: Kind, value: unknown): string | undefined {
  const { type, enum: words } = kind.schema;
  if (
    type !== 'string' ||
    words !== undefined ||
    !['number', 'bigint', 'boolean'].includes(typeof value)
  )
    return undefined;
  return `must be text, but YAML reads this value as a ${typeof value === 'boolean' ? 'boolean' : 'number'}. Put the value in quotes`;
}

/** Returns the map in a YAML file. Adds all problems of the file to `problems`. */
export function readTree(path: string, problems: string[]): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readWholeFile(path).toString();
  } catch (error) {
    problems.push(`'${path}' cannot be read: ${faultOf(error).message}`);
    return {};
  }
  return parseTree(path, text, problems);
}

/**
 * Parses a YAML text. Reports only codes and positions of errors, because the parser's messages may
 * quote a secret in the file.
 */
function parseTree(
  path: string,
  text: string,
  problems: string[],
): Readonly<Record<string, unknown>> {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    const { line, col } = lines.linePos(pos[0]);
    problems.push(
      `${path}: line ${line}, column ${col} is not valid YAML (${code.toLowerCase().replaceAll('_', ' ')})`,
    );
  }
  if (document.errors.length > 0) return {};
  try {
    const tree: unknown = document.toJS() ?? {};
    if (isObject(tree)) return tree;
    problems.push(`${path}: must be a map from settings to values`);
  } catch {
    problems.push(`${path}: unknown alias (*name). Quote a value that begins with *`);
  }
  return {};
}

interface FileSetting {
  /** The dotted key. */
  readonly key: string;
  readonly value: unknown;
  readonly name: string;
  /** Its number in its section. */
  readonly place: string;
}

/** Does not flatten a map that is the value of a setting. Omits empty sections. */
function flatten(tree: object, section?: string): FileSetting[] {
  return Object.entries(tree).flatMap(([name, value]: [string, unknown], index): FileSetting[] => {
    const key = section === undefined ? name : `${section}.${name}`;
    const isSection = OPTIONS.some((option) => option.key.startsWith(`${key}.`));
    const place = `number ${index + 1}${section === undefined ? '' : ` in '${section}'`}`;
    if (!isSection || typeof value !== 'object') return [{ key, value, name, place }];
    return value === null ? [] : flatten(value, key);
  });
}
