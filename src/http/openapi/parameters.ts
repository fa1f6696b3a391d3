import { EXAMPLE_ID } from '../../domain/model/error-entry.ts';
import type { ErrorCode } from '../../domain/model/errors.ts';
import { timestamp, type JsonSchema } from '../../domain/model/field.ts';
import { sortFields, type ResourceType } from '../../domain/model/resource.ts';
import { revealRight } from '../../domain/model/response.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import {
  CONTEXT_OPTIONS,
  FORCE,
  HIDE_COUNTS,
  HIDE_SECRETS,
  REQUEST_ID_HEADER,
} from '../request/context.ts';
import type { OrReference, ParameterObject } from './document.ts';
import { referencesOf } from './schemas.ts';

export const ETAG = `"${EXAMPLE_ID}/2026-02-01T08:30:00.654321"`;

const UUID: JsonSchema = { type: 'string', format: 'uuid' };

/** Returns an optional parameter, which is text by default. */
function parameter(
  place: ParameterObject['in'],
  name: string,
  description: string,
  example?: unknown,
  schema: JsonSchema = { type: 'string' },
): ParameterObject {
  return { name, in: place, description, schema, ...(example === undefined ? {} : { example }) };
}

const PAGING: readonly ParameterObject[] = [
  parameter(
    'query',
    'limit',
    `The maximum number of resources on the page. The default is the setting \`api.defaultLimit\`. \`max\` and numbers above ${MAX_LIMIT} mean ${MAX_LIMIT}.`,
    20,
    { oneOf: [{ type: 'integer', minimum: 1 }, { const: 'max' }] },
  ),
  parameter(
    'query',
    'marker',
    'The id of the last resource on the previous page.',
    EXAMPLE_ID,
    UUID,
  ),
  parameter('query', 'sort_dir', 'The sort order.', 'desc', {
    type: 'string',
    enum: ['asc', 'desc'],
    default: 'asc',
  }),
];

const CONTEXT: readonly ParameterObject[] = [
  ...CONTEXT_OPTIONS.flatMap(({ headers, parameters, description, right }) => {
    const needs = `${description} Needs the right \`${right}\`.`;
    return [
      ...headers.map((name) => parameter('header', spell(name), needs)),
      ...parameters.map((name) => parameter('query', name, needs)),
    ];
  }),
  parameter(
    'header',
    REQUEST_ID_HEADER,
    'A request id from the caller. The service logs this id next to the id that it generates. It ignores invalid ids.',
    undefined,
    { type: 'string', pattern: '^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
  ),
];

/** The parameters that several operations refer to, by name. */
export const SHARED_PARAMETERS: Readonly<Record<string, ParameterObject>> = Object.fromEntries(
  [...PAGING, ...CONTEXT].map((parameter) => [parameter.name, parameter]),
);

export const CONTEXT_PARAMETERS = CONTEXT.map(referenceTo);

function referenceTo({ name }: ParameterObject): { readonly $ref: string } {
  return { $ref: `#/components/parameters/${name}` };
}

/** Returns a header's name in its usual spelling: `x-auth-token` gives `X-Auth-Token`. */
function spell(header: string): string {
  return header.replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

export function listParameters(type: ResourceType): OrReference<ParameterObject>[] {
  const { filters, selectors = {}, timeFilters = {}, computedFilters = {}, owner } = type;
  const keys = Object.keys(sortFields(type));
  const sortKey = parameter(
    'query',
    'sort_key',
    'The sort key. Resources with equal values are sorted by id. Null values sort first.',
    keys.includes('name') ? 'name' : keys[0],
    { type: 'string', enum: keys, default: 'created_at' },
  );
  return [
    ...PAGING.map(referenceTo),
    sortKey,
    ...Object.keys(filters).map((name) => filterParameter(type, name)),
    ...referencesOf(type).map(({ member, noun, example }) => {
      const description = `Only resources that apply to the ${noun} with this name.`;
      return parameter('query', member, description, example);
    }),
    ...Object.entries(selectors).map(([name, { description, example }]) =>
      parameter('query', name, description, example),
    ),
    ...Object.entries(timeFilters).map(([name, { description }]) =>
      parameter('query', name, description, '2026-01-31T12:00:00', timestamp().schema),
    ),
    ...Object.entries(computedFilters).map(([name, { description, right }]) => {
      const need =
        right === undefined ? '' : ` The filter covers all projects. Needs the right \`${right}\`.`;
      return parameter('query', name, description + need, true, { type: 'boolean' });
    }),
    ...(owner === undefined
      ? []
      : [parameter('header', HIDE_COUNTS, 'If true, the response omits `metadata`.')]),
    ...secretParameters(type),
  ];
}

/** How filters compare, by the form of their values. */
const COMPARISONS: Readonly<Record<string, string>> = {
  unique: ', by the rules of the check for unique names',
  lower: ', ignoring case',
  upper: ', ignoring case',
};

function filterParameter({ filters, fields }: ResourceType, name: string): ParameterObject {
  const form = filters[name];
  const example = fields[name]?.example;
  const pattern = form === 'integer' ? '' : ' `*` matches any number of characters.';
  const description = `Only resources whose \`${name}\` equals this value${COMPARISONS[form ?? ''] ?? ''}.${pattern}`;
  return parameter('query', name, description, typeof example === 'string' ? example : undefined);
}

/** Returns the parameter that omits the secrets of `type`, if it has any, from responses. */
export function secretParameters(type: ResourceType): ParameterObject[] {
  if (revealRight(type) === undefined) return [];
  const description =
    'If true, the response omits secrets. The request then succeeds even if the service cannot decrypt a secret.';
  return [parameter('header', HIDE_SECRETS, description)];
}

/** Returns the parameter of a change that may take a key from a name server that needs it. */
export function forceParameters(errors: readonly ErrorCode[] = []): ParameterObject[] {
  if (!errors.includes('key_is_referenced')) return [];
  const unsafe = errors.includes('rotation_state')
    ? 'If true, takes the step even if a client may still need the key that it removes. Also, if'
    : 'If';
  const description = `${unsafe} true, makes the change even if it takes a key from a name server whose configuration names the key. Except on PowerDNS, the name server then keeps a key with this name, whose secret no one knows.`;
  return [parameter('header', FORCE, description)];
}

export const UNLESS_KNOWN = parameter(
  'header',
  'If-None-Match',
  'The `ETag` of the last response. If nothing has changed since, the response is 304.',
  ETAG,
);

export const ONLY_IF_UNCHANGED = parameter(
  'header',
  'If-Match',
  'The `ETag` of the resource that the change is based on. If the resource has changed since, the response is 412 and nothing changes.',
  ETAG,
);

export function idParameter({ words }: ResourceType): ParameterObject {
  const description = `The id of the ${words.one}, in any common UUID format.`;
  return { ...parameter('path', 'id', description, EXAMPLE_ID, UUID), required: true };
}
