import { timestamp } from '../../domain/model/field.ts';
import type { ErrorCode } from '../../domain/model/errors.ts';
import { sortFields, type ResourceType } from '../../domain/model/resource.ts';
import { revealRight } from '../../domain/model/response.ts';
import { COMMON_SORT_KEYS, MAX_LIMIT } from '../../domain/model/settings.ts';
import {
  CONTEXT_OPTIONS,
  FORCE,
  HIDE_COUNTS,
  HIDE_SECRETS,
  REQUEST_ID_HEADER,
} from '../request/context.ts';
import type { OrReference, ParameterObject } from './document.ts';
import { referenceParameters } from './references.ts';
import { EXAMPLE_ID } from '../../domain/model/error-entry.ts';

function pagingParameters(defaultLimit: number): Record<string, ParameterObject> {
  const parameters: ParameterObject[] = [
    {
      name: 'limit',
      in: 'query',
      description: `The maximum number of resources on the page. \`max\` and numbers above ${MAX_LIMIT} mean ${MAX_LIMIT}.`,
      schema: { oneOf: [{ type: 'integer', minimum: 1 }, { const: 'max' }], default: defaultLimit },
      example: 20,
    },
    {
      name: 'marker',
      in: 'query',
      description: 'The id of the last resource on the previous page.',
      schema: { type: 'string', format: 'uuid' },
      example: EXAMPLE_ID,
    },
    {
      name: 'sort_key',
      in: 'query',
      description:
        'The sort key. Resources with equal values are sorted by id. Null values sort first.',
      schema: { type: 'string', enum: COMMON_SORT_KEYS, default: COMMON_SORT_KEYS[0] },
      example: 'name',
    },
    {
      name: 'sort_dir',
      in: 'query',
      description: 'The sort order.',
      schema: { type: 'string', enum: ['asc', 'desc'], default: 'asc' },
      example: 'desc',
    },
  ];
  return Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter]));
}

function contextParameters(): Record<string, ParameterObject> {
  const describe = (
    name: string,
    place: 'header' | 'query',
    description: string,
    right: string,
  ): [string, ParameterObject] => [
    name,
    {
      name,
      in: place,
      description: `${description} Needs the right \`${right}\`.`,
      schema: { type: 'string' },
    },
  ];
  return Object.fromEntries(
    CONTEXT_OPTIONS.flatMap(({ headers, parameters, description, right }) => [
      ...headers.map((name) => describe(spell(name), 'header', description, right)),
      ...parameters.map((name) => describe(name, 'query', description, right)),
    ]),
  );
}

/** Returns a header's name in its usual spelling: `x-auth-token` gives `X-Auth-Token`. */
function spell(header: string): string {
  return header.replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

const REQUEST_ID_PARAMETER: ParameterObject = {
  name: REQUEST_ID_HEADER,
  in: 'header',
  description:
    'A request id from the caller. The service logs this id next to the id that it generates. It ignores invalid ids.',
  schema: { type: 'string', pattern: '^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
};

export function sharedParameters(defaultLimit: number): Record<string, ParameterObject> {
  return {
    ...pagingParameters(defaultLimit),
    ...contextParameters(),
    [REQUEST_ID_HEADER]: REQUEST_ID_PARAMETER,
  };
}

export function commonParameters(): OrReference<ParameterObject>[] {
  return references([...Object.keys(contextParameters()), REQUEST_ID_HEADER]);
}

export function listParameters(type: ResourceType): OrReference<ParameterObject>[] {
  const { sort_key: sortKey, ...others } = pagingParameters(MAX_LIMIT);
  const keys = Object.keys(sortFields(type));
  const isShared = keys.join() === COMMON_SORT_KEYS.join();
  const example = keys.includes('name') ? 'name' : keys[0];
  const own =
    sortKey === undefined || isShared
      ? []
      : [{ ...sortKey, schema: { ...sortKey.schema, enum: keys }, example }];
  return [
    ...references(Object.keys(isShared ? pagingParameters(MAX_LIMIT) : others)),
    ...own,
    ...Object.keys(type.filters).map((name) => filterParameter(type, name)),
    ...referenceParameters(type),
    ...Object.entries(type.selectors ?? {}).map(([name, { description, example }]) => ({
      name,
      in: 'query' as const,
      description,
      schema: { type: 'string' },
      example,
    })),
    ...Object.entries(type.timeFilters ?? {}).map(([name, { description }]) => ({
      name,
      in: 'query' as const,
      description,
      schema: timestamp().schema,
      example: '2026-01-31T12:00:00',
    })),
    ...Object.entries(type.computedFilters ?? {}).map(([name, { description, right }]) =>
      computedFilterParameter(name, description, right),
    ),
    ...(type.owner === undefined ? [] : [HIDE_COUNTS_PARAMETER]),
    ...secretParameters(type),
  ];
}

/**
 * Returns the parameters that omit the secrets of `type` from responses. Empty for a type without
 * secrets.
 */
export function secretParameters(type: ResourceType): ParameterObject[] {
  if (revealRight(type) === undefined) return [];
  const description =
    'If true, the response omits secrets. The request then succeeds even if the service cannot decrypt a secret.';
  return [{ name: HIDE_SECRETS, in: 'header', description, schema: { type: 'string' } }];
}

/** Returns the parameter of a change that may take a key from a name server that needs it. */
export function forceParameters(errors: readonly ErrorCode[] = []): ParameterObject[] {
  if (!errors.includes('key_is_referenced')) return [];
  const unsafe = errors.includes('rotation_state')
    ? 'If true, takes the step even if a client may still need the key that it removes. Also, if'
    : 'If';
  const description = `${unsafe} true, makes the change even if it takes a key from a name server whose configuration names the key. Except on PowerDNS, the name server then keeps a key with this name, whose secret no one knows.`;
  return [{ name: FORCE, in: 'header', description, schema: { type: 'string' } }];
}

/** Returns the parameter `If-None-Match` of a request that may get 304. */
export function unlessKnown(example: string): ParameterObject {
  const description =
    'The `ETag` of the last response. If nothing has changed since, the response is 304.';
  return { name: 'If-None-Match', in: 'header', description, schema: { type: 'string' }, example };
}

export function onlyIfUnchanged(example: string): ParameterObject {
  const description =
    'The `ETag` of the resource that the change is based on. If the resource has changed since, the response is 412 and nothing changes.';
  return { name: 'If-Match', in: 'header', description, schema: { type: 'string' }, example };
}

const HIDE_COUNTS_PARAMETER: ParameterObject = {
  name: HIDE_COUNTS,
  in: 'header',
  description: 'If true, the response omits `metadata`.',
  schema: { type: 'string' },
};

function computedFilterParameter(
  name: string,
  description: string,
  right: string | undefined,
): ParameterObject {
  const need =
    right === undefined ? '' : ` The filter covers all projects. Needs the right \`${right}\`.`;
  return {
    name,
    in: 'query',
    description: `${description}${need}`,
    schema: { type: 'boolean' },
    example: true,
  };
}

function references(names: readonly string[]): OrReference<ParameterObject>[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** How filters compare, by the form of their values. */
const COMPARISONS: Readonly<Record<string, string>> = {
  unique: ', by the rules of the check for unique names',
  lower: ', ignoring case',
  upper: ', ignoring case',
};

function filterParameter(type: ResourceType, name: string): ParameterObject {
  const form = type.filters[name];
  const comparison = COMPARISONS[form ?? ''] ?? '';
  const pattern = form === 'integer' ? '' : ' `*` matches any number of characters.';
  return {
    name,
    in: 'query',
    description: `Only resources whose \`${name}\` equals this value${comparison}.${pattern}`,
    schema: { type: 'string' },
    ...(typeof type.fields[name]?.example === 'string'
      ? { example: type.fields[name].example }
      : {}),
  };
}

export function idParameter(type: ResourceType): ParameterObject {
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: `The id of the ${type.words.one}, in any common UUID format.`,
    schema: { type: 'string', format: 'uuid' },
    example: EXAMPLE_ID,
  };
}
