import { revealRight, secretFields } from '../../domain/model/response.ts';
import { EXAMPLE_ID } from '../../domain/model/error-entry.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import {
  isReadOnly,
  timestampsOf,
  type Operation,
  type ResourceType,
} from '../../domain/model/resource.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import {
  CREATED_AT,
  EXAMPLE_REQUEST_ID,
  fieldsOf,
  givenFieldsOf,
  requiredFields,
  UPDATED_AT,
} from './examples.ts';
import { referenceCondition, referenceMembers, referredFields } from './references.ts';

type Properties = Readonly<Record<string, JsonSchema>>;

const SELF: JsonSchema = {
  type: 'string',
  format: 'uri',
  description: 'The absolute URL of this resource or page.',
};

const NEXT: JsonSchema = {
  type: 'string',
  format: 'uri',
  description: 'The absolute URL of the next page. Present if more resources may follow.',
};

const METADATA: JsonSchema = object(
  'Absent if the request has the header OpenStack-DNS-Hide-Counts, or if the service would have to scan resources to count them.',
  {
    total_count: {
      type: 'integer',
      minimum: 0,
      description: 'The number of resources on all pages.',
    },
  },
);

const BEFORE_FIELDS: Properties = {
  id: {
    type: 'string',
    format: 'uuid',
    readOnly: true,
    description: 'The id, set by the service.',
    examples: [EXAMPLE_ID],
  },
};

const AFTER_FIELDS: Properties = {
  created_at: timestampSchema(
    'string',
    'The time of creation, in UTC with microseconds and without a time zone.',
    CREATED_AT,
  ),
  updated_at: timestampSchema(
    ['string', 'null'],
    'The time of the last update. Null before the first update.',
    UPDATED_AT,
  ),
  links: { ...object('The link to the resource.', { self: SELF }), readOnly: true },
};

function timestampSchema(
  type: string | string[],
  description: string,
  example: string,
): JsonSchema {
  return {
    type,
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}$',
    readOnly: true,
    description,
    examples: [example],
  };
}

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

function afterFields(type: ResourceType): Properties {
  const timestamps = timestampsOf(type);
  return Object.fromEntries(
    Object.entries(AFTER_FIELDS).filter(([name]) => name === 'links' || timestamps.includes(name)),
  );
}

export function schemaReference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Returns the schema names of an operation's request body and response body. */
export function schemaNames(
  type: ResourceType,
  operation: Operation,
): { request?: string; response?: string } {
  const { title } = type;
  const names: Record<Operation, { request?: string; response?: string }> = {
    create: {
      request: `${title}Create`,
      response: type.shownOnce !== undefined ? `${title}Created` : title,
    },
    list: { response: `${title}List` },
    get: { response: title },
    update: { request: `${title}Update`, response: title },
    delete: type.statuses?.delete === undefined ? {} : { response: title },
  };
  return names[operation];
}

export function resourceSchemas(type: ResourceType): Record<string, JsonSchema> {
  const { title } = type;
  const fields: Properties = Object.fromEntries(
    fieldsOf(type).map(([name, { schema, description, example, set }]) => [
      name,
      {
        ...schema,
        description:
          type.fields[name]?.secret === true
            ? `${description} Responses contain this member only for callers with the right \`${String(revealRight(type))}\`.`
            : description,
        examples: [example],
        ...(set === 'by the service' ? { readOnly: true } : {}),
      },
    ]),
  );
  const changeable = Object.fromEntries(
    givenFieldsOf(type, 'update').map(([name]) => [name, fields[name] ?? {}]),
  );
  // A secret that was lost with the master key is empty in responses.
  const secrets = Object.fromEntries(
    secretFields(type).map((name) => [name, { ...fields[name], minLength: 0 }]),
  );
  const members = { ...BEFORE_FIELDS, ...fields, ...secrets, ...afterFields(type) };
  const always = Object.keys(members).filter((name) => !secretFields(type).includes(name));
  const once: Properties = Object.fromEntries(
    Object.entries(type.shownOnce ?? {}).map(([name, { schema, description, example }]) => [
      name,
      {
        ...schema,
        readOnly: true,
        description: `${description} Shown only in this response.`,
        examples: [example],
      },
    ]),
  );
  const possible: Record<string, JsonSchema> = {
    [title]: object(type.description, members, always),
    [`${title}Create`]: creation(type, fields),
    [`${title}Created`]: object(
      `The response to a request that creates a ${title}.`,
      {
        ...members,
        ...once,
      },
      [...always, ...Object.keys(once)],
    ),
    [`${title}Update`]: {
      type: 'object',
      description: `The changes to a ${title}. Omitted members do not change. The members that only the service sets are ignored if \`id\` and \`created_at\` are those of the resource, so that a client can change one member and send the whole resource. Otherwise, they are refused.`,
      additionalProperties: false,
      properties: {
        ...changeable,
        ...referenceMembers(type, 'update'),
        ...Object.fromEntries(Object.entries(members).filter(([name]) => isReadOnly(type, name))),
      },
    },
    [`${title}List`]: page(type),
  };
  const needed = new Set([
    title,
    ...type.operations.flatMap((operation) => Object.values(schemaNames(type, operation))),
  ]);
  return Object.fromEntries(Object.entries(possible).filter(([name]) => needed.has(name)));
}

function requestOnlyMembers({ requestOnly = {} }: ResourceType): [string, JsonSchema][] {
  return Object.entries(requestOnly).map(([name, { schema, description, example }]) => [
    name,
    { ...schema, writeOnly: true, description, examples: [example] },
  ]);
}

function creation(type: ResourceType, fields: Properties): JsonSchema {
  const missed = requiredFields(type).map(([name]) => name);
  const properties = givenFieldsOf(type, 'create').map(([name, { onCreate }]) => {
    const hasDefault =
      onCreate !== 'required' && onCreate.default !== undefined && !missed.includes(name);
    return [
      name,
      { ...fields[name], ...(hasDefault ? { default: onCreate.default } : {}) },
    ] as const;
  });
  const referred = referredFields(type);
  const required = givenFieldsOf(type, 'create').flatMap(([name, { onCreate }]) =>
    onCreate === 'required' && !referred.has(name) ? [name] : [],
  );
  const members = {
    ...Object.fromEntries(properties),
    ...referenceMembers(type, 'create'),
    ...Object.fromEntries(requestOnlyMembers(type)),
  };
  return withDefaultsInWords({
    ...object(`A new ${type.title}.`, members, required),
    ...referenceCondition(type),
    ...(type.variants === undefined ? {} : { anyOf: type.variants }),
    additionalProperties: false,
  });
}

/**
 * Returns the schema of a request body with its defaults in descriptions instead of `default`.
 * Client generators treat a member with `default` as always present, and would require the member
 * in requests.
 */
export function withDefaultsInWords(schema: JsonSchema): JsonSchema {
  const { default: value, ...others } = schema;
  const { description, items, properties } = schema;
  const words = `Default: \`${JSON.stringify(value)}\`.`;
  return {
    ...others,
    ...(Object.hasOwn(schema, 'default')
      ? { description: description === undefined ? words : `${description} ${words}` }
      : {}),
    ...(items === undefined ? {} : { items: withDefaultsInWords(items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, each]) => [name, withDefaultsInWords(each)]),
          ),
        }),
  };
}

function page(type: ResourceType): JsonSchema {
  return object(
    `One page of the ${type.collection}.`,
    {
      [type.collection]: {
        type: 'array',
        maxItems: MAX_LIMIT,
        description: 'The resources of this page.',
        items: schemaReference(type.title),
      },
      links: object('The links to this page and the next page.', { self: SELF, next: NEXT }, [
        'self',
      ]),
      ...(type.owner === undefined ? {} : { metadata: METADATA }),
    },
    [type.collection, 'links'],
  );
}

export const ERROR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: object(
    'The body of every error response.',
    {
      code: { type: 'integer', description: 'The status of the response.', examples: [409] },
      type: {
        type: 'string',
        description: 'The type of the error, for programs.',
        examples: ['duplicate_tld'],
      },
      message: { type: 'string', description: 'The description of the error, for people.' },
      request_id: {
        type: 'string',
        pattern: '^req-[0-9a-f-]{36}$',
        description:
          'The request id, which the service also logs. Absent if the service did not receive the whole request.',
        examples: [EXAMPLE_REQUEST_ID],
      },
      errors: object('Present only if members of the body are invalid.', {
        errors: {
          type: 'array',
          description: 'All problems with the body.',
          items: object('One problem.', {
            path: {
              type: 'array',
              items: { type: ['string', 'integer'] },
              description: 'The path of the member, outermost name first.',
            },
            message: { type: 'string', description: 'The description of the problem.' },
            validator: {
              type: 'string',
              description: 'The violated rule.',
              examples: ['required'],
            },
          }),
        },
      }),
      error: object(
        "Present only if the token is missing or unknown: the error in the format of OpenStack's identity service, for its clients.",
        {
          code: { type: 'integer', const: 401, description: 'The status of the response.' },
          title: {
            type: 'string',
            description: 'The reason phrase of the HTTP status.',
            examples: ['Unauthorized'],
          },
          message: { type: 'string', description: 'The description of the error, for people.' },
        },
      ),
    },
    ['code', 'type', 'message'],
  ),
};
