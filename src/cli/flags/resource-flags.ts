import { Option } from 'commander';
import type { Field, JsonSchema } from '../../core/field.ts';
import { givenFields, sortFields, type ResourceType } from '../../core/resource.ts';
import { COMMON_SORT_KEYS } from '../../core/settings.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { collect, dashed } from './flag.ts';
import { nameFormOf } from './names.ts';
import type { FieldFlag, FlagValues, ResourceCommand } from './resource-command.ts';
import { readPastTime } from './time.ts';

/** Secrets have other flags, and some fields can only be set on creation. */
export function flaggedFields(
  type: ResourceType,
  creating: boolean,
): [name: string, field: Field][] {
  return givenFields(type).flatMap((name): [string, Field][] => {
    const field = type.fields[name];
    return field === undefined || field.secret === true || (!creating && field.set === 'once')
      ? []
      : [[name, field]];
  });
}

/** Without `creating`, also returns the flag that clears the field: `--no-description`. */
export function fieldOptions(
  { type, flags, defaults = {} }: ResourceCommand,
  name: string,
  field: Field,
  creating: boolean,
): Option[] {
  const { schema } = field;
  const hasDefault = creating && name in defaults;
  const option = memberOption(name, schema, field.description, flags?.[name]);
  if (hasDefault) option.description += ` (default: ${defaults[name]})`;
  // The flag of the name is optional, because the name may also be an argument.
  const isMandatory = field.onCreate === 'required' && !hasDefault && name !== type.unique?.field;
  if (creating) return [option.makeOptionMandatory(isMandatory)];
  return emptyValue(schema) === undefined
    ? [option]
    : [option, new Option(`--no-${dashed(name)}`, `clear the ${words(name)}`)];
}

/** Returns the flag of a member of a request. A boolean with the default false is a switch. */
export function memberOption(
  name: string,
  schema: JsonSchema,
  description = '',
  own?: Pick<FieldFlag, 'flag' | 'description'>,
): Option {
  const isSwitch = schema.default === false;
  const option = new Option(
    own?.flag ?? `--${dashed(name)}${isSwitch ? '' : ` ${placeholder(name, schema)}`}`,
    own?.description ?? phrase(isSwitch ? description.replace(/^Whether to /, '') : description),
  );
  if (isSwitch) return option;
  const choices = typeOf(schema) === 'boolean' ? [true, false] : schema.enum;
  if (choices !== undefined) option.choices(choices.map(String));
  else if (option.variadic) option.argParser(collect);
  return option;
}

/** Throws `CommandError` for a value of the wrong type. */
export function readFields(
  resource: ResourceCommand,
  creating: boolean,
  flags: FlagValues,
  now: number,
): Record<string, unknown> {
  return Object.fromEntries(
    flaggedFields(resource.type, creating).flatMap(([name, { schema }]) => {
      const given = flags[attributeOf(resource, name)];
      if (given === undefined) return [];
      if (given === false) return [[name, emptyValue(schema)]];
      const read = resource.flags?.[name]?.read;
      return [
        [
          name,
          read === undefined || typeof given !== 'string'
            ? readValue(name, schema, given)
            : read(given, now),
        ],
      ];
    }),
  );
}

export function filterOptions(resource: ResourceCommand): Option[] {
  const { type } = resource;
  const filters = Object.entries(type.filters).map(([name, form]) => {
    const pattern = form === 'integer' ? '' : '; * matches any number of characters';
    return new Option(
      `${longFlag(resource, name)} <${form === 'integer' ? 'number' : 'pattern'}>`,
      `list only ${type.collection} with this ${words(name)}${pattern}`,
    );
  });
  const computed = Object.entries(type.computedFilters ?? {}).flatMap(([name, filter]) => [
    new Option(
      `--${dashed(name)}`,
      `list only ${type.collection} that meet this condition: ${phrase(filter.description).replace(/^whether /, '')}`,
    ),
    new Option(
      `--no-${dashed(name)}`,
      `list only ${type.collection} that do not meet the condition of --${dashed(name)}`,
    ),
  ]);
  const times = Object.values(type.timeFilters ?? {}).map(
    ({ flag, description }) =>
      new Option(
        `${flag} <time>`,
        `${phrase(description.replace(/^Only/, `list only`))}; a timestamp, or a duration before now (90d, 12h, 30m)`,
      ),
  );
  return [...filters, ...times, ...computed];
}

/** `now` is in milliseconds since 1970. Throws `CommandError`. */
export function readFilters(
  resource: ResourceCommand,
  flags: FlagValues,
  now: number,
): [name: string, value: string][] {
  const { type } = resource;
  const times = Object.entries(type.timeFilters ?? {}).flatMap(
    ([name, { flag }]): [string, string][] => {
      const given = flags[new Option(flag).attributeName()];
      return typeof given === 'string' ? [[name, readPastTime(given, now)]] : [];
    },
  );
  const others = [...Object.keys(type.filters), ...Object.keys(type.computedFilters ?? {})].flatMap(
    (name): [string, string][] => {
      const given = flags[attributeOf(resource, name)];
      if (typeof given !== 'string' && typeof given !== 'boolean') return [];
      return [
        [name, name === type.unique?.field ? nameFormOf(type)(String(given)) : String(given)],
      ];
    },
  );
  return [...times, ...others];
}

export function sortOption({ type, sort = COMMON_SORT_KEYS[0] }: ResourceCommand): Option {
  const keys = Object.keys(sortFields(type)).join(', ');
  return new Option(
    '--sort <key>',
    `sort by this field: ${keys}; add :desc for descending order (default: ${sort})`,
  );
}

/** Returns the query parameters for `KEY`, `KEY:asc` or `KEY:desc`. Throws `CommandError`. */
export function readSort(
  type: ResourceType,
  text: string | undefined,
): [name: string, value: string][] {
  if (text === undefined) return [];
  const [key = '', direction = 'asc', ...rest] = text.split(':');
  const keys = Object.keys(sortFields(type));
  if (!keys.includes(key) || !['asc', 'desc'].includes(direction) || rest.length > 0) {
    throw new CommandError(
      EXIT.usage,
      `Invalid --sort '${text}'. Use one of: ${keys.join(', ')}. Add :asc or :desc to set the order.`,
    );
  }
  return [
    ['sort_key', key],
    ['sort_dir', direction],
  ];
}

/** Returns the flag of a field or filter, without its value. */
function longFlag({ flags }: ResourceCommand, name: string): string {
  return flags?.[name]?.flag.split(' ')[0] ?? `--${dashed(name)}`;
}

function attributeOf(resource: ResourceCommand, name: string): string {
  return new Option(longFlag(resource, name)).attributeName();
}

function words(name: string): string {
  return name.replaceAll('_', ' ');
}

/**
 * Converts a sentence to the description of a flag: removes the full stop and the initial capital.
 * A first word in capitals does not change.
 */
export function phrase(sentence: string): string {
  const text = sentence.replace(/\.$/, '').replaceAll('`', '"');
  return /^[A-Z](?![A-Z])/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

function typeOf(schema: JsonSchema): string {
  const { type } = schema;
  return String(Array.isArray(type) ? type.find((each) => each !== 'null') : type);
}

function placeholder(name: string, schema: JsonSchema): string {
  switch (typeOf(schema)) {
    case 'array': {
      const members = Object.keys(schema.items?.properties ?? {});
      return `<${members.length > 0 ? members.join(':') : words(name).replace(/s$/, '').replaceAll(' ', '-')}...>`;
    }
    case 'object':
      return '<key:value...>';
    case 'integer':
      return '<number>';
    case 'boolean':
      return '<boolean>';
    default:
      return schema.format === 'uuid'
        ? '<id>'
        : `<${schema.enum === undefined ? dashed(name) : 'word'}>`;
  }
}

/** Returns the value that clears a field, or undefined if the field cannot be cleared. */
function emptyValue(schema: JsonSchema): unknown {
  if (Array.isArray(schema.type) && schema.type.includes('null')) return null;
  if ((schema.minItems ?? 0) > 0) return undefined;
  return { array: [], object: {} }[typeOf(schema)];
}

function listOf(given: unknown): string[] {
  return Array.isArray(given) ? given.map(String) : [];
}

/** Returns a member of a request for the value of its flag. Throws `CommandError`. */
export function readValue(name: string, schema: JsonSchema, given: unknown): unknown {
  switch (typeOf(schema)) {
    case 'array':
      return listOf(given).map((text) => readItem(name, schema.items ?? {}, text));
    case 'object':
      return Object.fromEntries(
        listOf(given).map((text) => splitAtColons(name, ['key', 'value'], text)),
      );
    case 'integer':
      return readInteger(name, String(given));
    case 'boolean':
      return given === 'true';
    default:
      return given;
  }
}

/** Reads an item of a list: text, or the members of a record in order, separated by colons. */
function readItem(name: string, schema: JsonSchema, text: string): unknown {
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) return text;
  const values = splitAtColons(
    name,
    members.map(([member]) => member),
    text,
  );
  return Object.fromEntries(
    members.map(([member, kind], index) => [member, readValue(name, kind, values[index])]),
  );
}

/** The last value may contain colons. Throws `CommandError`. */
function splitAtColons(name: string, parts: readonly string[], text: string): string[] {
  const split = text.split(':');
  if (split.length < parts.length)
    throw new CommandError(
      EXIT.usage,
      `Invalid --${dashed(name)} '${text}'. Use the form ${parts.join(':')}.`,
    );
  return [...split.slice(0, parts.length - 1), split.slice(parts.length - 1).join(':')];
}

function readInteger(name: string, text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new CommandError(EXIT.usage, `Invalid --${dashed(name)} '${text}'. Use a whole number.`);
}
