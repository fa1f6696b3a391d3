import { EXAMPLE_ID } from '../../domain/model/error-entry.ts';
import {
  anyText,
  enumeration,
  integer,
  type Field,
  type JsonSchema,
} from '../../domain/model/field.ts';
import { described, list, optional, responseObject } from '../../domain/model/object.ts';
import {
  givenFields,
  isReadOnly,
  shownFields,
  timestampsOf,
  type Operation,
  type ResourceType,
} from '../../domain/model/resource.ts';
import { revealRight, secretFields } from '../../domain/model/response.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';

type Properties = Readonly<Record<string, JsonSchema>>;
type Property = [name: string, JsonSchema];
type Described = Pick<Field, 'schema' | 'description' | 'example'>;

export const EXAMPLE_REQUEST_ID = 'req-0f6c3a52-8d7e-4b1f-9c55-3e2d1a0b9f87';

const ID: JsonSchema = {
  type: 'string',
  format: 'uuid',
  readOnly: true,
  description: 'The id, set by the service.',
  examples: [EXAMPLE_ID],
};

const SELF: JsonSchema = {
  type: 'string',
  format: 'uri',
  description: 'The absolute URL of this resource or page.',
};

const TIMESTAMP: JsonSchema = {
  type: 'string',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}$',
  readOnly: true,
  description: 'The time of creation, in UTC with microseconds and without a time zone.',
  examples: ['2026-01-31T12:00:00.123456'],
};

const TIMESTAMPS: Properties = {
  created_at: TIMESTAMP,
  updated_at: {
    ...TIMESTAMP,
    type: ['string', 'null'],
    description: 'The time of the last update. Null before the first update.',
  },
};

/**
 * Returns the schema of an object in a response. Every member is present unless `required` omits
 * it. Later versions may add members.
 */
function object(
  description: string,
  properties: Properties,
  required = Object.keys(properties),
): JsonSchema {
  return { type: 'object', description, required, properties };
}

export function schemaReference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function requestSchema({ title }: ResourceType, operation: Operation): string | undefined {
  if (operation === 'create') return `${title}Create`;
  return operation === 'update' ? `${title}Update` : undefined;
}

export function responseSchema(type: ResourceType, operation: Operation): string | undefined {
  const { title, shownOnce, statuses } = type;
  if (operation === 'list') return `${title}List`;
  if (operation === 'create' && shownOnce !== undefined) return `${title}Created`;
  return operation === 'delete' && statuses?.delete === undefined ? undefined : title;
}

/** Returns the fields that a request body of `operation` may have, in order. */
function givenFieldsOf(type: ResourceType, operation: Operation): [string, Field][] {
  return Object.entries(type.fields).filter(
    ([name, { set }]) =>
      givenFields(type).includes(name) && (operation === 'create' || set !== 'once'),
  );
}

/** Returns a request body of `operation` with the examples of its fields: for an update, of one. */
export function exampleBody(type: ResourceType, operation: Operation): object {
  const fields = givenFieldsOf(type, operation);
  const shown = operation === 'update' ? fields.slice(0, 1) : fields;
  return Object.fromEntries(shown.map(([name, { example }]) => [name, example]));
}

function member({ schema, description, example }: Described): JsonSchema {
  return { ...schema, description, examples: [example] };
}

function fieldSchemas(type: ResourceType): Properties {
  const note = ` Responses contain this member only for callers with the right \`${revealRight(type)}\`.`;
  const schemas = Object.entries(type.fields).map(([name, field]): Property => {
    const description = field.secret === true ? field.description + note : field.description;
    const readOnly = field.set === 'by the service' ? { readOnly: true } : {};
    return [name, { ...member({ ...field, description }), ...readOnly }];
  });
  return Object.fromEntries(schemas.filter(([name]) => shownFields(type).includes(name)));
}

export function resourceSchemas(type: ResourceType): Record<string, JsonSchema> {
  const { title, description, operations, shownOnce = {} } = type;
  const fields = fieldSchemas(type);
  const secrets = secretFields(type);
  // A secret that was lost with the master key is empty in responses.
  const emptied = secrets.map((name): Property => [name, { ...fields[name], minLength: 0 }]);
  const times = timestampsOf(type).map((name): Property => [name, TIMESTAMPS[name] ?? {}]);
  const members: Properties = {
    id: ID,
    ...fields,
    ...Object.fromEntries(emptied),
    ...Object.fromEntries(times),
    links: { ...object('The link to the resource.', { self: SELF }), readOnly: true },
  };
  const present = Object.keys(members).filter((name) => !secrets.includes(name));
  const once = Object.entries(shownOnce).map(([name, field]): Property => [
    name,
    {
      ...member({ ...field, description: `${field.description} Shown only in this response.` }),
      readOnly: true,
    },
  ]);
  const schemas: Record<string, JsonSchema> = {
    [title]: object(description, members, present),
    [`${title}Create`]: creation(type, fields),
    [`${title}Created`]: object(
      `The response to a request that creates a ${title}.`,
      { ...members, ...Object.fromEntries(once) },
      [...present, ...Object.keys(shownOnce)],
    ),
    [`${title}Update`]: update(type, { ...members, ...fields }),
    [`${title}List`]: page(type),
  };
  const names = operations.flatMap((operation) => [
    requestSchema(type, operation),
    responseSchema(type, operation),
  ]);
  return Object.fromEntries(
    Object.entries(schemas).filter(([name]) => name === title || names.includes(name)),
  );
}

function creation(type: ResourceType, fields: Properties): JsonSchema {
  const { title, variants = [], requestOnly = {} } = type;
  const given = givenFieldsOf(type, 'create');
  // A variant is recognised by its `properties`, and decides which other members a resource needs.
  const conditional = variants.flatMap(({ properties = {}, required = [] }) =>
    required.filter((name) => !Object.hasOwn(properties, name)),
  );
  const members = given.map(([name, { onCreate }]): Property => {
    const { default: value } = onCreate === 'required' ? { default: undefined } : onCreate;
    const hasDefault = value !== undefined && !conditional.includes(name);
    return [name, { ...fields[name], ...(hasDefault ? { default: value } : {}) }];
  });
  const others = Object.entries(requestOnly).map(([name, field]): Property => [
    name,
    { ...member(field), writeOnly: true },
  ]);
  const properties: Properties = {
    ...Object.fromEntries(members),
    ...referenceMembers(type, 'create'),
    ...Object.fromEntries(others),
  };
  const referred = new Set(referencesOf(type).flatMap((reference) => reference.fields));
  const required = given.flatMap(([name, field]) => (field.onCreate === 'required' ? [name] : []));
  const always = required.filter((name) => !referred.has(name));
  const replaceable = required.filter((name) => referred.has(name));
  return withDefaultsInWords({
    ...object(`A new ${title}.`, properties, always),
    ...eitherReferenced(type, replaceable),
    ...(variants.length === 0 ? {} : { anyOf: variants }),
    additionalProperties: false,
  });
}

function update(type: ResourceType, members: Properties): JsonSchema {
  const names = givenFieldsOf(type, 'update').map(([name]) => name);
  const own = Object.entries(members).filter(
    ([name]) => names.includes(name) || isReadOnly(type, name),
  );
  return {
    type: 'object',
    description: `The changes to a ${type.title}. Omitted members do not change. The members that only the service sets are ignored if \`id\` and \`created_at\` are those of the resource, so that a client can change one member and send the whole resource. Otherwise, they are refused.`,
    additionalProperties: false,
    properties: { ...Object.fromEntries(own), ...referenceMembers(type, 'update') },
  };
}

const TOTAL: JsonSchema = {
  type: 'integer',
  minimum: 0,
  description: 'The number of resources on all pages.',
};

const METADATA = object(
  'Absent if the request has the header OpenStack-DNS-Hide-Counts, or if the service would have to scan resources to count them.',
  { total_count: TOTAL },
);

const PAGE_LINKS = object(
  'The links to this page and the next page.',
  {
    self: SELF,
    next: {
      ...SELF,
      description: 'The absolute URL of the next page. Present if more resources may follow.',
    },
  },
  ['self'],
);

function page({ title, collection, owner }: ResourceType): JsonSchema {
  const items: JsonSchema = {
    type: 'array',
    maxItems: MAX_LIMIT,
    description: 'The resources of this page.',
    items: schemaReference(title),
  };
  const metadata = owner === undefined ? {} : { metadata: METADATA };
  const members = { [collection]: items, links: PAGE_LINKS, ...metadata };
  return object(`One page of the ${collection}.`, members, [collection, 'links']);
}

/** Returns the members and filters that refer to other resources by name instead of `fields`. */
export function referencesOf({ references = {} }: ResourceType) {
  return Object.entries(references).map(([name, { type, fields }]) => ({
    member: name,
    noun: type.noun,
    example: String(type.fields[type.unique?.field ?? '']?.example),
    fields: Object.keys(fields('')),
  }));
}

function referenceMembers(type: ResourceType, operation: Operation): Properties {
  const names = givenFieldsOf(type, operation).map(([name]) => name);
  const members = referencesOf(type)
    .filter(({ fields }) => fields.every((field) => names.includes(field)))
    .map(({ member: name, noun, example, fields }): Property => {
      const instead = fields.map((field) => `\`${field}\``).join(' and ');
      const description = `The name of an existing ${noun}, instead of ${instead}.`;
      return [name, { type: 'string', writeOnly: true, description, examples: [example] }];
    });
  return Object.fromEntries(members);
}

/** Returns the condition that a new resource has either `required`, or a reference that replaces them. */
function eitherReferenced(type: ResourceType, required: readonly string[]): JsonSchema {
  if (required.length === 0) return {};
  const members = referencesOf(type)
    .filter(({ fields }) => required.every((field) => fields.includes(field)))
    .map((reference) => [reference.member]);
  return { anyOf: [required, ...members].map((names) => ({ required: names })) };
}

/**
 * Returns the schema of a request body with its defaults in descriptions instead of `default`.
 * Client generators treat a member with `default` as always present, and would require the member
 * in requests.
 */
export function withDefaultsInWords({ default: value, ...schema }: JsonSchema): JsonSchema {
  const { description, items, properties } = schema;
  const words = value === undefined ? [] : [`Default: \`${JSON.stringify(value)}\`.`];
  const text = [description ?? [], words].flat().join(' ');
  const members = Object.entries(properties ?? {}).map(([name, each]): Property => [
    name,
    withDefaultsInWords(each),
  ]);
  return {
    ...schema,
    ...(text === '' ? {} : { description: text }),
    ...(items === undefined ? {} : { items: withDefaultsInWords(items) }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(members) }),
  };
}

const MESSAGE = described(anyText(), 'The description of the error, for people.');

const PROBLEM = responseObject({
  path: described(
    list({ ...anyText(), schema: { type: ['string', 'integer'] } }),
    'The path of the member, outermost name first.',
  ),
  message: described(anyText(), 'The description of the problem.'),
  validator: described(anyText(), 'The violated rule, such as `required`.'),
});

const ERROR = responseObject({
  code: described(integer(400, 599), 'The status of the response.'),
  type: described(anyText(), 'The type of the error, for programs.'),
  message: MESSAGE,
  request_id: described(
    optional({ ...anyText(), schema: { type: 'string', pattern: '^req-[0-9a-f-]{36}$' } }),
    'The request id, which the service also logs. Absent if the service did not receive the whole request.',
  ),
  errors: described(
    optional(responseObject({ errors: described(list(PROBLEM), 'All problems with the body.') })),
    'Present only if members of the body are invalid.',
  ),
  error: described(
    optional(
      responseObject({
        code: described(enumeration([401]), 'The status of the response.'),
        title: described(anyText(), 'The reason phrase of the HTTP status.'),
        message: MESSAGE,
      }),
    ),
    "Present only if the token is missing or unknown: the error in the format of OpenStack's identity service, for its clients.",
  ),
});

export const ERROR_SCHEMA = described(ERROR, 'The body of every error response.').schema;
