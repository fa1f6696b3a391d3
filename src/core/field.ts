import type { Problem } from './error-entry.ts';

/** A JSON Schema (draft 2020-12), with the keywords that the service uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly maxProperties?: number;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

export interface Failure {
  /** The problem, worded to follow the name of the field, such as "must be a UUID". */
  readonly problem: string;
  readonly validator: string;
  /** The problems with an object's members, with relative paths. Absent for other values. */
  readonly problems?: readonly Problem[];
}

export type Parsed<T = unknown> = { readonly value: T } | Failure;

/** Valid values, as a JSON Schema and as a parser. `T` is the type of the stored values. */
export interface Kind<T = unknown> {
  readonly schema: JsonSchema;
  /** Checks one value and converts it to the stored form. Never throws. */
  parse(value: unknown): Parsed<T>;
}

export type ValueOf<K extends Kind> = K extends Kind<infer T> ? T : never;

export interface Field<T = unknown> extends Kind<T> {
  readonly description: string;
  readonly example: T;
  /** On creation: `required`, or the default. `admit` may set the value later. */
  readonly onCreate: 'required' | { readonly default: T | undefined };
  /** True for values that must not appear in logs, tables or errors. */
  readonly secret?: boolean;
  /** What forms call the field. The default is its name. */
  readonly label?: string;
  /** What the value is the id of, or the values of a list. */
  readonly refersTo?: FieldReference;
  /** What a person should know before the choice of a value, by the value. */
  readonly choiceNotes?: Readonly<Record<string, string>>;
  /** Who sets the field. The service sets `hidden` fields, and responses omit them. */
  readonly set?: 'always' | 'once' | 'by the service' | 'hidden';
}

/** A collection, or one for each value of the field `by`. */
export type FieldReference = string | (Readonly<Record<string, string>> & { readonly by: string });

/** Returns a kind for text of `min` to `max` code points. `problemOf` returns further problems. */
export function text(options: {
  min: number;
  max: number;
  pattern?: string;
  problemOf?: (value: string) => string | undefined;
}): Kind<string> {
  const { min, max, pattern, problemOf } = options;
  return {
    schema: {
      type: 'string',
      minLength: min,
      maxLength: max,
      ...(pattern === undefined ? {} : { pattern }),
    },
    parse(value) {
      if (typeof value !== 'string') return { problem: 'must be a string', validator: 'type' };
      if (!isStorableText(value))
        return { problem: 'must be valid Unicode text without U+0000', validator: 'format' };
      if (!hasCodePoints(value, min, max)) {
        return {
          problem: `must be ${min} to ${max} characters long`,
          validator: value.length < min ? 'minLength' : 'maxLength',
        };
      }
      const problem = problemOf?.(value);
      return problem === undefined ? { value } : { problem, validator: 'format' };
    },
  };
}

export function anyText(): Kind<string> {
  return {
    schema: { type: 'string' },
    parse(value) {
      const isText = typeof value === 'string' && isStorableText(value);
      return isText
        ? { value }
        : { problem: 'must be valid Unicode text without U+0000', validator: 'type' };
    },
  };
}

export function enumeration<const Value extends string | number>(
  values: readonly Value[],
): Kind<Value> {
  return {
    schema: { type: typeof values[0] === 'number' ? 'integer' : 'string', enum: values },
    parse(value) {
      const found = values.find((each) => each === value);
      return found === undefined
        ? { problem: `must be one of ${values.join(', ')}`, validator: 'enum' }
        : { value: found };
    },
  };
}

/** Returns a kind for UUIDs in any common spelling, stored in lower case with hyphens. */
export function uuid(): Kind<string> {
  return {
    schema: { type: 'string', format: 'uuid' },
    parse(value) {
      const normalised = typeof value === 'string' ? normaliseUuid(value) : undefined;
      return normalised === undefined
        ? { problem: 'must be a UUID', validator: 'format' }
        : { value: normalised };
    },
  };
}

export function nullable<T>(kind: Kind<T>): Kind<T | null> {
  const { type = [], enum: values } = kind.schema;
  const nulls = values === undefined ? {} : { enum: [...values, null] };
  return {
    schema: { ...kind.schema, type: [type, 'null'].flat(), ...nulls },
    parse: (value) => (value === null ? { value } : kind.parse(value)),
  };
}

/** Returns a kind for integers, given as numbers or text. The default `max` is 2^53 - 1. */
export function integer(min: number, max?: number): Kind<number> {
  const largest = max ?? Number.MAX_SAFE_INTEGER;
  return {
    schema: { type: 'integer', minimum: min, ...(max === undefined ? {} : { maximum: max }) },
    parse(value) {
      const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
      const fits =
        typeof number === 'number' &&
        Number.isSafeInteger(number) &&
        number >= min &&
        number <= largest;
      return fits
        ? { value: number }
        : { problem: `must be an integer from ${min} to ${largest}`, validator: 'type' };
    },
  };
}

export function boolean(): Kind<boolean> {
  return {
    schema: { type: 'boolean' },
    parse: (value) =>
      typeof value === 'boolean'
        ? { value }
        : { problem: 'must be true or false', validator: 'type' },
  };
}

export function array<T>(item: Kind<T>, min: number, max: number): Kind<readonly T[]> {
  return {
    schema: { type: 'array', items: item.schema, minItems: min, maxItems: max },
    parse(value) {
      if (!Array.isArray(value)) return { problem: 'must be an array', validator: 'type' };
      if (value.length < min || value.length > max)
        return { problem: `must have ${min} to ${max} items`, validator: 'items' };
      const items: T[] = [];
      for (const [index, element] of value.entries()) {
        const parsed = item.parse(element);
        if ('problem' in parsed)
          return { problem: `item ${index} ${parsed.problem}`, validator: parsed.validator };
        items.push(parsed.value);
      }
      return { value: items };
    },
  };
}

/** Returns a kind for lists of `min` to `max` values of one kind, without duplicates. */
export function list<T>(item: Kind<T>, min: number, max: number): Kind<readonly T[]> {
  const { schema, parse } = array(item, min, max);
  return {
    schema: { ...schema, uniqueItems: true },
    parse(value) {
      const parsed = parse(value);
      if ('problem' in parsed) return parsed;
      const different = new Set(parsed.value.map((element) => JSON.stringify(element))).size;
      return different === parsed.value.length
        ? parsed
        : { problem: 'must not repeat an item', validator: 'uniqueItems' };
    },
  };
}

export function map<T>(
  name: Kind<string>,
  item: Kind<T>,
  max: number,
): Kind<Readonly<Record<string, T>>> {
  return {
    schema: { type: 'object', additionalProperties: item.schema, maxProperties: max },
    parse(value) {
      if (!isObject(value)) return { problem: 'must be an object', validator: 'type' };
      const members = Object.entries(value);
      if (members.length > max)
        return { problem: `must have at most ${max} members`, validator: 'maxProperties' };
      const parsedMembers: [string, T][] = [];
      const problems: Problem[] = [];
      for (const [key, member] of members) {
        const parsedName = name.parse(key);
        const parsed = item.parse(member);
        if ('problem' in parsedName)
          problems.push({
            path: [],
            validator: parsedName.validator,
            message: `key ${quoted(key)} ${parsedName.problem}`,
          });
        else if ('problem' in parsed)
          problems.push({
            path: [],
            validator: parsed.validator,
            message: `value of ${quoted(key)} ${parsed.problem}`,
          });
        else parsedMembers.push([parsedName.value, parsed.value]);
      }
      const [first] = problems;
      if (first !== undefined)
        return {
          problem: problems.map(({ message }) => message).join('; '),
          validator: first.validator,
          problems,
        };
      return { value: Object.fromEntries(parsedMembers) };
    },
  };
}

function quoted(key: string): string {
  return `'${key.length > 64 ? `${key.slice(0, 64).toWellFormed()}…` : key.toWellFormed()}'`;
}

/** Returns whether `value` is an object and not an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a kind for timestamps: ISO 8601, UTC by default, stored in the API's format. */
export function timestamp(): Kind<string> {
  return {
    schema: { type: 'string', pattern: TIMESTAMP.source },
    parse(value) {
      const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined;
      return parsed === undefined
        ? { problem: 'must be a date and time such as 2030-01-31T12:00:00', validator: 'format' }
        : { value: parsed };
    },
  };
}

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID =
  /^(?:urn:uuid:)?(\{)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(\})?$/i;

export function normaliseUuid(text: string): string | undefined {
  if (CANONICAL_UUID.test(text)) return text;
  const match = UUID.exec(text);
  if (match === null || (match[1] === undefined) !== (match[7] === undefined)) return undefined;
  return match.slice(2, 7).join('-').toLowerCase();
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?$/;

/** Returns `text` as `YYYY-MM-DDTHH:MM:SS.ffffff` in UTC, or undefined if it is not a timestamp. */
export function parseTimestamp(text: string): string | undefined {
  const match = TIMESTAMP.exec(text);
  if (match === null) return undefined;
  const [, day = '', time = '', fraction = '', offset = 'Z'] = match;
  const local = new Date(`${day}T${time}Z`);
  const date = new Date(`${day}T${time}${offset}`);
  const rolledOver = Number.isNaN(local.getTime()) || local.toISOString() !== `${day}T${time}.000Z`;
  if (
    rolledOver ||
    Number.isNaN(date.getTime()) ||
    date.getUTCFullYear() > 9999 ||
    date.getUTCFullYear() < 0
  )
    return undefined;
  return `${date.toISOString().slice(0, 19)}.${fraction.padEnd(6, '0')}`;
}

/** Returns whether every database stores `text` unchanged: no lone surrogate and no U+0000. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function hasCodePoints(text: string, min: number, max: number): boolean {
  if (text.length < min || text.length > 2 * max) return false;
  const count = Array.from(text).length;
  return count >= min && count <= max;
}
