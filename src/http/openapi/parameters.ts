import { EXAMPLE_ID } from '../../core/error-entry.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { boolean, timestamp, uuid, type JsonSchema } from '../../core/field.ts';
import { sortFields, type ResourceType } from '../../core/resource.ts';
import { revealRight } from '../../core/response.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { CONTEXT_OPTIONS, FORCE, HIDE_COUNTS, HIDE_SECRETS } from '../request/context.ts';
import type { OrReference, ParameterObject, Reference } from './document.ts';
import { referencesOf } from './schemas.ts';

const TEXT: JsonSchema = { type: 'string' };

/** Returns an optional parameter of the query, which is text by default. */
function query(
  name: string,
  description: string,
  example?: unknown,
  schema: JsonSchema = TEXT,
): ParameterObject {
  const parameter = { name, in: 'query', description, schema } as const;
  return example === undefined ? parameter : { ...parameter, example };
}

function header(name: string, description: string): ParameterObject {
  return { name, in: 'header', description, schema: TEXT };
}

const PAGING: readonly ParameterObject[] = [
  query(
    'limit',
    `The maximum number of resources on the page. The default is the setting \`api.defaultLimit\`. \`max\` and numbers above ${MAX_LIMIT} mean ${MAX_LIMIT}.`,
    20,
    { oneOf: [{ type: 'integer', minimum: 1 }, { const: 'max' }] },
  ),
  query('marker', 'The id of the last resource on the previous page.', EXAMPLE_ID, uuid().schema),
  query('sort_dir', 'The sort order.', 'desc', { ...TEXT, enum: ['asc', 'desc'], default: 'asc' }),
];

const CONTEXT = CONTEXT_OPTIONS.flatMap(({ headers, parameters, description, right }) => {
  const needs = `${description} Needs the right \`${right}\`.`;
  return [
    ...headers.map((name) => header(name, needs)),
    ...parameters.map((name) => query(name, needs)),
  ];
});

/** The parameters that several operations refer to, by name. */
export const SHARED_PARAMETERS: Readonly<Record<string, ParameterObject>> = Object.fromEntries(
  [...PAGING, ...CONTEXT].map((parameter) => [parameter.name, parameter]),
);

export const CONTEXT_PARAMETERS = CONTEXT.map(referenceTo);

function referenceTo({ name }: ParameterObject): Reference {
  return { $ref: `#/components/parameters/${name}` };
}

export function listParameters(type: ResourceType): OrReference<ParameterObject>[] {
  const { filters, selectors = {}, timeFilters = {}, computedFilters = {}, owner } = type;
  const keys = Object.keys(sortFields(type));
  return [
    ...PAGING.map(referenceTo),
    query(
      'sort_key',
      'The sort key. Resources with equal values are sorted by id. Null values sort first.',
      keys[0],
      { ...TEXT, enum: keys, default: 'created_at' },
    ),
    ...Object.keys(filters).map((name) => filterParameter(type, name)),
    ...referencesOf(type).map(({ member, noun, example }) => {
      const description = `Only resources that apply to the ${noun} with this name.`;
      return query(member, description, example);
    }),
    ...Object.entries(selectors).map(([name, { description, example }]) =>
      query(name, description, example),
    ),
    ...Object.entries(timeFilters).map(([name, { description }]) =>
      query(name, description, '2026-01-31T12:00:00', timestamp().schema),
    ),
    ...Object.entries(computedFilters).map(([name, { description, right }]) => {
      const need =
        right === undefined ? '' : ` The filter covers all projects. Needs the right \`${right}\`.`;
      return query(name, description + need, true, boolean().schema);
    }),
    ...(owner === undefined
      ? []
      : [header(HIDE_COUNTS, 'If true, the response omits `metadata`.')]),
    ...secretParameters(type),
  ];
}

function filterParameter({ filters, fields }: ResourceType, name: string): ParameterObject {
  const form = filters[name] ?? 'exact';
  const example = fields[name]?.example;
  const comparison = ['exact', 'integer'].includes(form) ? '' : ', ignoring case';
  const pattern = form === 'integer' ? '' : ' `*` matches any number of characters.';
  const description = `Only resources whose \`${name}\` equals this value${comparison}.${pattern}`;
  return query(name, description, typeof example === 'string' ? example : undefined);
}

/** Returns the parameter that omits the secrets of `type`, if it has any, from responses. */
export function secretParameters(type: ResourceType): ParameterObject[] {
  if (revealRight(type) === undefined) return [];
  const description =
    'If true, the response omits secrets. The request then succeeds even if the service cannot decrypt a secret.';
  return [header(HIDE_SECRETS, description)];
}

/** Returns the parameter of a change that may take a key from a name server that needs it. */
export function forceParameters(errors: readonly ErrorCode[] = []): ParameterObject[] {
  if (!errors.includes('key_is_referenced')) return [];
  const description =
    'If true, makes the change even if a client may still need the key, or the configuration of a name server names it. Except on PowerDNS, that name server then keeps a key with this name, whose secret no one knows.';
  return [header(FORCE, description)];
}

export const UNLESS_KNOWN = header(
  'If-None-Match',
  'The `ETag` of the last response. If nothing has changed since, the response is 304.',
);

export const ONLY_IF_UNCHANGED = header(
  'If-Match',
  'The `ETag` of the resource that the change is based on. If the resource has changed since, the response is 412 and nothing changes.',
);

export function idParameter({ words }: ResourceType): ParameterObject {
  const description = `The id of the ${words.one}, in any common UUID format.`;
  return { ...query('id', description, EXAMPLE_ID, uuid().schema), in: 'path', required: true };
}
