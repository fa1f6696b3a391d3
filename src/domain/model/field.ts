/**
 * The kinds of values that fields of resources and settings have. A kind states what a value must be in two ways, side by side:
 * as a JSON Schema, for people and documents, and as a parser, for requests and the configuration.
 */

import type { Problem } from './error-entry.ts';

/** A JSON Schema (draft 2020-12, as OpenAPI 3.1 uses it). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What is wrong with a value. */
export interface Failure {
  /** Worded to follow the field's name. */
  readonly problem: string;
  /** The rule that was broken. */
  readonly validator: string;
  /** Everything that is wrong with the members of an object, with paths inside the object. Absent for other values. */
  readonly problems?: readonly Problem[];
}

/** What a parser returns: the value to store, or what is wrong with it. */
export type Parsed<T = unknown> = { readonly value: T } | Failure;

/** What a value must be. `T` is the type of the values that it stores. */
export interface Kind<T = unknown> {
  readonly schema: JsonSchema;
  /** Checks one value and converts it to the form that is stored. Never throws. */
  parse(value: unknown): Parsed<T>;
}

/** The type of the values that a kind stores. */
export type ValueOf<K extends Kind> = K extends Kind<infer T> ? T : never;

/** One field of a resource type: a kind, and how the field is used. */
export interface Field<T = unknown> extends Kind<T> {
  /** What the field is for, in a sentence. */
  readonly description: string;
  readonly example: T;
  /** Another example, for fields in which two resources must differ. */
  readonly otherExample?: T;
  /** On creation: `required`, or the value that stands for an absent one. `complete` may fill it later. */
  readonly onCreate: 'required' | { readonly default: T | undefined };
  /** True for values that no log, table or error may show. */
  readonly secret?: boolean;
  /** Who may set it: callers, callers at creation only, the service, or the service without even showing it. */
  readonly set?: 'always' | 'once' | 'by the service' | 'hidden';
}

/** Text of `min` to `max` Unicode code points; `problemOf` says what else may be wrong with it. */
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

/** Text of any length. */
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

/** One of a closed set of words or of a closed set of integers, compared exactly. */
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

/** A UUID in any common spelling, kept in lower case with dashes. */
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

/** Null, or what `kind` takes. */
export function nullable<T>(kind: Kind<T>): Kind<T | null> {
  const values = Array.isArray(kind.schema.enum)
    ? { enum: [...(kind.schema.enum as unknown[]), null] }
    : {};
  return {
    schema: { ...kind.schema, type: [kind.schema.type, 'null'], ...values },
    parse: (value) => (value === null ? { value } : kind.parse(value)),
  };
}

/** A whole number, also when it is given as text. Without `max`, any that a double holds exactly. */
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

/** True or false. */
export function boolean(): Kind<boolean> {
  return {
    schema: { type: 'boolean' },
    parse: (value) =>
      typeof value === 'boolean'
        ? { value }
        : { problem: 'must be true or false', validator: 'type' },
  };
}

/** An array of `min` to `max` values of one kind. */
export function array<T>(item: Kind<T>, min: number, max: number): Kind<readonly T[]> {
  return {
    schema: { type: 'array', items: item.schema, minItems: min, maxItems: max },
    parse(value) {
      if (!Array.isArray(value)) return { problem: 'must be an array', validator: 'type' };
      if (value.length < min || value.length > max)
        return { problem: `must hold ${min} to ${max} items`, validator: 'items' };
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

/** A list of `min` to `max` values of one kind, none of them twice. */
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

/** An object of at most `max` members whose names are of the kind `name` and whose values are of the kind `item`. */
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
      const problems: { readonly problem: string; readonly validator: string }[] = [];
      for (const [key, member] of members) {
        const parsedName = name.parse(key);
        const parsed = item.parse(member);
        if ('problem' in parsedName)
          problems.push({
            validator: parsedName.validator,
            problem: `key ${quoted(key)} ${parsedName.problem}`,
          });
        else if ('problem' in parsed)
          problems.push({
            validator: parsed.validator,
            problem: `value of ${quoted(key)} ${parsed.problem}`,
          });
        else parsedMembers.push([parsedName.value, parsed.value]);
      }
      const [first] = problems;
      if (first !== undefined)
        return { ...first, problem: problems.map(({ problem }) => problem).join('; ') };
      return { value: Object.fromEntries(parsedMembers) };
    },
  };
}

/** The beginning of a key, for messages. */
function quoted(key: string): string {
  return `'${key.length > 64 ? `${key.slice(0, 64).toWellFormed()}…` : key.toWellFormed()}'`;
}

/** Returns true for objects that are not arrays. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A moment: ISO 8601 with optional fraction and offset, UTC where none is given; kept in the API's own form. */
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

/** The UUID that `text` spells (any case, with or without dashes, braces or `urn:uuid:`), in lower case with dashes. */
export function normaliseUuid(text: string): string | undefined {
  if (CANONICAL_UUID.test(text)) return text;
  const match = UUID.exec(text);
  if (match === null || (match[1] === undefined) !== (match[7] === undefined)) return undefined;
  return match.slice(2, 7).join('-').toLowerCase();
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?$/;

/** `text` as `YYYY-MM-DDTHH:MM:SS.ffffff` in UTC, or undefined if it names no moment. */
export function parseTimestamp(text: string): string | undefined {
  const match = TIMESTAMP.exec(text);
  if (match === null) return undefined;
  const [, day = '', time = '', fraction = '', offset = 'Z'] = match;
  const local = new Date(`${day}T${time}Z`);
  const moment = new Date(`${day}T${time}${offset}`);
  const rolledOver = Number.isNaN(local.getTime()) || local.toISOString() !== `${day}T${time}.000Z`;
  if (
    rolledOver ||
    Number.isNaN(moment.getTime()) ||
    moment.getUTCFullYear() > 9999 ||
    moment.getUTCFullYear() < 0
  )
    return undefined;
  return `${moment.toISOString().slice(0, 19)}.${fraction.padEnd(6, '0')}`;
}

/** Tells whether every database keeps `text` as it is: no lone surrogate, no U+0000. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function hasCodePoints(text: string, min: number, max: number): boolean {
  if (text.length < min || text.length > 2 * max) return false;
  const count = Array.from(text).length;
  return count >= min && count <= max;
}
