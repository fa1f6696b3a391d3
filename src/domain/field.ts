/**
 * The kinds of fields that resources are made of. A kind says what a value must be in two ways that are
 * written side by side: as a JSON Schema, for people and documents, and as a parser, for requests.
 */

/** A JSON Schema (draft 2020-12, as OpenAPI 3.1 uses it). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a parser answers: the value to keep, or what is wrong, worded to follow the field's name. */
export type Parsed = { readonly value: unknown } | { readonly problem: string; readonly validator: string };

/** What a value must be. */
export interface Kind {
  readonly schema: JsonSchema;
  /** Checks one value and brings it into the form that is kept. Never throws. */
  parse(value: unknown): Parsed;
}

/** One field of a resource type: a kind, and how the field is used. */
export interface Field extends Kind {
  /** What the field is for, in a sentence. */
  readonly description: string;
  readonly example: unknown;
  /** On creation: `required`, or the value that stands for an absent one. `complete` may fill it later. */
  readonly onCreate: 'required' | { readonly default: unknown };
  /** True for values that no log, table or error may show. */
  readonly secret?: boolean;
  /** True for columns that no caller reads or writes. */
  readonly hidden?: boolean;
}

/** Text of `min` to `max` Unicode code points; `problemOf` says what else may be wrong with it. */
export function text(options: { min: number; max: number; pattern?: string; problemOf?: (value: string) => string | undefined }): Kind {
  const { min, max, pattern, problemOf } = options;
  return {
    schema: { type: 'string', minLength: min, maxLength: max, ...(pattern === undefined ? {} : { pattern }) },
    parse(value) {
      if (typeof value !== 'string') return { problem: 'must be a string', validator: 'type' };
      if (!isStorableText(value)) return { problem: 'must be valid Unicode text without U+0000', validator: 'format' };
      if (!hasCodePoints(value, min, max)) {
        return { problem: `must be ${min} to ${max} characters long`, validator: value === '' ? 'minLength' : 'maxLength' };
      }
      const problem = problemOf?.(value);
      return problem === undefined ? { value } : { problem, validator: 'format' };
    },
  };
}

/** One of a closed set of words, compared exactly. */
export function choice(words: readonly string[]): Kind {
  return {
    schema: { type: 'string', enum: words },
    parse: (value) =>
      typeof value === 'string' && words.includes(value) ? { value } : { problem: `must be one of ${words.join(', ')}`, validator: 'enum' },
  };
}

/** A UUID in any common spelling, kept in lower case with dashes. */
export function uuid(): Kind {
  return {
    schema: { type: 'string', format: 'uuid' },
    parse(value) {
      const normalised = typeof value === 'string' ? normaliseUuid(value) : undefined;
      return normalised === undefined ? { problem: 'must be a UUID', validator: 'format' } : { value: normalised };
    },
  };
}

/** Null, or what `kind` takes. */
export function nullable(kind: Kind): Kind {
  return {
    schema: { ...kind.schema, type: [kind.schema.type, 'null'] },
    parse: (value) => (value === null ? { value } : kind.parse(value)),
  };
}

/** A list of 1 to `max` different values of one kind. */
export function list(item: Kind, max: number): Kind {
  return {
    schema: { type: 'array', items: item.schema, minItems: 1, maxItems: max, uniqueItems: true },
    parse(value) {
      if (!Array.isArray(value)) return { problem: 'must be an array', validator: 'type' };
      if (value.length < 1 || value.length > max) return { problem: `must hold 1 to ${max} items`, validator: 'items' };
      const items: unknown[] = [];
      for (const [index, element] of value.entries()) {
        const parsed = item.parse(element);
        if ('problem' in parsed) return { ...parsed, problem: `item ${index} ${parsed.problem}` };
        items.push(parsed.value);
      }
      return new Set(items).size === items.length ? { value: items } : { problem: 'must not repeat an item', validator: 'uniqueItems' };
    },
  };
}

/** A moment: ISO 8601 with optional fraction and offset, UTC where none is given; kept in the API's own form. */
export function timestamp(): Kind {
  return {
    schema: { type: 'string', pattern: TIMESTAMP.source },
    parse(value) {
      const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined;
      return parsed === undefined ? { problem: 'must be a date and time such as 2030-01-31T12:00:00', validator: 'format' } : { value: parsed };
    },
  };
}

const UUID = /^(?:urn:uuid:)?(\{)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(\})?$/i;

/** The UUID that `text` spells (any case, with or without dashes, braces or `urn:uuid:`), in lower case with dashes. */
export function normaliseUuid(text: string): string | undefined {
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
  if (rolledOver || Number.isNaN(moment.getTime()) || moment.getUTCFullYear() > 9999 || moment.getUTCFullYear() < 0) return undefined;
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
