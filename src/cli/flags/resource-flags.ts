import { Option } from 'commander';
import type { Field, JsonSchema } from '../../domain/model/field.ts';
import { givenFields, sortFields, type ResourceType } from '../../domain/model/resource.ts';
import { COMMON_SORT_KEYS } from '../../domain/model/settings.ts';
import { CommandError, EXIT } from '../output/errors.ts';
import { collect } from './flags.ts';
import type { ResourceCommand } from './resource-table.ts';

/** What commander read: the values of flags by their names in camel case. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** The fields of `type` that have a flag, in order: secrets have flags of another kind, and some fields are set once only. */
export function flaggedFields(type: ResourceType, creating: boolean): [name: string, field: Field][] {
  return givenFields(type).flatMap((name): [string, Field][] => {
    const field = type.fields[name];
    return field === undefined || field.secret === true || (!creating && field.set === 'once') ? [] : [[name, field]];
  });
}

/** The flag of a field, and with `creating` false the one that empties it: `--description`, `--no-description`. */
export function fieldOptions({ flags }: ResourceCommand, name: string, field: Field, creating: boolean): Option[] {
  const { schema } = field;
  const { flag, description } = flags?.[name] ?? { flag: `--${dashed(name)} ${placeholder(name, schema)}`, description: phrase(field.description) };
  const option = new Option(flag, description);
  if (schema.enum !== undefined) option.choices(schema.enum as string[]);
  else if (option.variadic) option.argParser(collect);
  if (creating) return [option.makeOptionMandatory(field.onCreate === 'required')];
  return emptyValue(schema) === undefined ? [option] : [option, new Option(`--no-${dashed(name)}`, `empty the ${words(name)}`)];
}

/** The members of a request body that the flags give. Throws `CommandError` for values that no body could hold. */
export function readFields(resource: ResourceCommand, creating: boolean, flags: FlagValues, now: number): Record<string, unknown> {
  return Object.fromEntries(
    flaggedFields(resource.type, creating).flatMap(([name, { schema }]) => {
      const given = flags[attributeOf(resource, name)];
      if (given === undefined) return [];
      if (given === false) return [[name, emptyValue(schema)]];
      const read = resource.flags?.[name]?.read;
      return [[name, read === undefined ? readValue(name, schema, given) : read(given as string, now)]];
    }),
  );
}

/** The flags of the filters and questions of a list. */
export function filterOptions(resource: ResourceCommand): Option[] {
  const { type } = resource;
  const filters = Object.entries(type.filters).map(([name, form]) => {
    const pattern = form === 'integer' ? '' : '; * stands for any run of characters';
    return new Option(`${longFlag(resource, name)} <${form === 'integer' ? 'number' : 'pattern'}>`, `only those with this ${words(name)}${pattern}`);
  });
  const questions = Object.entries(type.questions ?? {}).flatMap(([name, question]) => [
    new Option(`--${dashed(name)}`, `only those for which this is so: ${phrase(question.description)}`),
    new Option(`--no-${dashed(name)}`, `only those for which it is not`),
  ]);
  return [...filters, ...questions];
}

/** The query parameters that the flags of a list ask for. */
export function readFilters(resource: ResourceCommand, flags: FlagValues): [name: string, value: string][] {
  const { type, toName = (name: string) => name } = resource;
  return [...Object.keys(type.filters), ...Object.keys(type.questions ?? {})].flatMap((name): [string, string][] => {
    const given = flags[attributeOf(resource, name)] as string | boolean | undefined;
    if (given === undefined) return [];
    return [[name, name === type.unique.field ? toName(String(given)) : String(given)]];
  });
}

/** The flag by which a list is sorted. */
export function sortOption({ type, sort = COMMON_SORT_KEYS[0] }: ResourceCommand): Option {
  const keys = Object.keys(sortFields(type)).join(', ');
  return new Option('--sort <key>', `sort by ${keys}; in descending order with :desc after it (default: ${sort})`);
}

/** The query parameters of `KEY`, `KEY:asc` or `KEY:desc`. Throws `CommandError`. */
export function readSort(type: ResourceType, text: string | undefined): [name: string, value: string][] {
  if (text === undefined) return [];
  const [key = '', direction = 'asc', ...rest] = text.split(':');
  const keys = Object.keys(sortFields(type));
  if (!keys.includes(key) || !['asc', 'desc'].includes(direction) || rest.length > 0) {
    throw new CommandError(EXIT.usage, `--sort takes one of ${keys.join(', ')}, and :asc or :desc after it`);
  }
  return [
    ['sort_key', key],
    ['sort_dir', direction],
  ];
}

function dashed(name: string): string {
  return name.replaceAll('_', '-');
}

/** The flag of a field or filter, without its value. */
function longFlag({ flags }: ResourceCommand, name: string): string {
  return flags?.[name]?.flag.split(' ')[0] ?? `--${dashed(name)}`;
}

/** The name by which commander returns the flag of a field or filter. */
function attributeOf(resource: ResourceCommand, name: string): string {
  return new Option(longFlag(resource, name)).attributeName();
}

function words(name: string): string {
  return name.replaceAll('_', ' ');
}

/** A sentence as the description of a flag: no capital but of a word in capitals, no final period. */
export function phrase(sentence: string): string {
  const text = sentence.replace(/\.$/, '');
  return /^[A-Z](?![A-Z])/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** What a JSON Schema says its values are, null aside. */
function typeOf(schema: JsonSchema): string {
  const { type } = schema;
  return String(Array.isArray(type) ? type.find((each) => each !== 'null') : type);
}

function membersOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema.properties ?? {}) as Record<string, JsonSchema>;
}

function placeholder(name: string, schema: JsonSchema): string {
  switch (typeOf(schema)) {
    case 'array': {
      const members = Object.keys(membersOf((schema.items ?? {}) as JsonSchema));
      return `<${members.length > 0 ? members.join(':') : words(name).replace(/s$/, '').replaceAll(' ', '-')}...>`;
    }
    case 'object':
      return '<key:value...>';
    case 'integer':
      return '<number>';
    default:
      return schema.format === 'uuid' ? '<id>' : `<${schema.enum === undefined ? dashed(name) : 'word'}>`;
  }
}

/** What stands for nothing in a field that may be empty. */
function emptyValue(schema: JsonSchema): unknown {
  if (Array.isArray(schema.type) && schema.type.includes('null')) return null;
  return { array: [], object: {} }[typeOf(schema)];
}

function readValue(name: string, schema: JsonSchema, given: unknown): unknown {
  switch (typeOf(schema)) {
    case 'array':
      return (given as string[]).map((text) => readItem(name, (schema.items ?? {}) as JsonSchema, text));
    case 'object':
      return Object.fromEntries((given as string[]).map((text) => splitAtColons(name, ['key', 'value'], text)));
    case 'integer':
      return readInteger(name, String(given));
    default:
      return given;
  }
}

/** An item of a list: text, or the members of a record in their order with colons between them. */
function readItem(name: string, schema: JsonSchema, text: string): unknown {
  const members = Object.entries(membersOf(schema));
  if (members.length === 0) return text;
  const values = splitAtColons(
    name,
    members.map(([member]) => member),
    text,
  );
  return Object.fromEntries(members.map(([member, kind], index) => [member, readValue(name, kind, values[index])]));
}

/** As many parts as there are names; the last one may hold colons itself. */
function splitAtColons(name: string, parts: readonly string[], text: string): string[] {
  const split = text.split(':');
  if (split.length < parts.length) throw new CommandError(EXIT.usage, `--${dashed(name)} takes ${parts.join(':')}, not '${text}'`);
  return [...split.slice(0, parts.length - 1), split.slice(parts.length - 1).join(':')];
}

function readInteger(name: string, text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new CommandError(EXIT.usage, `--${dashed(name)} takes a whole number, not '${text}'`);
}
