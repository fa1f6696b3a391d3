import type { JsonSchema } from '../../domain/model/field.ts';
import { timestampsOf, type Operation, type ResourceType } from '../../domain/model/resource.ts';
import { MAX_LIMIT } from '../../domain/model/settings.ts';
import {
  CREATED_AT,
  EXAMPLE_ID,
  EXAMPLE_REQUEST_ID,
  fieldsOf,
  givenFieldsOf,
  requiredFields,
  UPDATED_AT,
} from './examples.ts';

type Properties = Readonly<Record<string, JsonSchema>>;

const SELF: JsonSchema = {
  type: 'string',
  format: 'uri',
  description: 'The absolute URL of what holds this link.',
};

const NEXT: JsonSchema = {
  type: 'string',
  format: 'uri',
  description: 'The absolute URL of the next page; only on a page that is full.',
};

const METADATA: JsonSchema = object(
  'Absent when the request has the header OpenStack-DNS-Hide-Counts, or only a scan could count.',
  {
    total_count: {
      type: 'integer',
      minimum: 0,
      description: 'How many resources all pages hold together.',
    },
  },
);

const BEFORE_FIELDS: Properties = {
  id: {
    type: 'string',
    format: 'uuid',
    readOnly: true,
    description: 'The id, given by the service.',
    examples: [EXAMPLE_ID],
  },
};

const AFTER_FIELDS: Properties = {
  created_at: moment(
    'string',
    'When the resource was created: UTC, with microseconds and without a zone.',
    CREATED_AT,
  ),
  updated_at: moment(
    ['string', 'null'],
    'When the resource was last updated; null until the first time.',
    UPDATED_AT,
  ),
  links: { ...object('Where the resource is.', { self: SELF }), readOnly: true },
};

function moment(type: string | string[], description: string, example: string): JsonSchema {
  return {
    type,
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}$',
    readOnly: true,
    description,
    examples: [example],
  };
}

/** An object in an answer: every member is always there, unless `required` says otherwise; later versions may add some. */
function object(
  description: string,
  properties: Properties,
  required = Object.keys(properties),
): JsonSchema {
  return { type: 'object', description, required, properties };
}

/** The members after the fields of a type. */
function afterFields(type: ResourceType): Properties {
  const timestamps = timestampsOf(type);
  return Object.fromEntries(
    Object.entries(AFTER_FIELDS).filter(([name]) => name === 'links' || timestamps.includes(name)),
  );
}

/** A reference to a schema of the document. */
export function schemaReference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The names of the schemas of an operation's request body and of the body of its answer. */
export function schemaNames(
  type: ResourceType,
  operation: Operation,
): { request?: string; answer?: string } {
  const { title } = type;
  const names: Record<Operation, { request?: string; answer?: string }> = {
    create: {
      request: `${title}Create`,
      answer: type.shownOnce !== undefined ? `${title}Created` : title,
    },
    list: { answer: `${title}List` },
    get: { answer: title },
    update: { request: `${title}Update`, answer: title },
    delete: type.statuses?.delete === undefined ? {} : { answer: title },
  };
  return names[operation];
}

/** Every schema that the operations of `type` refer to, by name. */
export function resourceSchemas(type: ResourceType): Record<string, JsonSchema> {
  const { title } = type;
  const fields: Properties = Object.fromEntries(
    fieldsOf(type).map(([name, { schema, description, example, set }]) => [
      name,
      {
        ...schema,
        description,
        examples: [example],
        ...(set === 'by the service' ? { readOnly: true } : {}),
      },
    ]),
  );
  const changeable = Object.fromEntries(
    givenFieldsOf(type, 'update').map(([name]) => [name, fields[name] ?? {}]),
  );
  const members = { ...BEFORE_FIELDS, ...fields, ...afterFields(type) };
  const once: Properties = Object.fromEntries(
    Object.entries(type.shownOnce ?? {}).map(([name, { schema, description, example }]) => [
      name,
      {
        ...schema,
        readOnly: true,
        description: `${description} Shown in this answer and never again.`,
        examples: [example],
      },
    ]),
  );
  const possible: Record<string, JsonSchema> = {
    [title]: object(type.description, members),
    [`${title}Create`]: creation(type, fields),
    [`${title}Created`]: object(`The answer to the creation of a ${title}.`, {
      ...members,
      ...once,
    }),
    [`${title}Update`]: {
      type: 'object',
      description: `What to change about a ${title}. Members that are left out stay as they are.`,
      additionalProperties: false,
      properties: changeable,
    },
    [`${title}List`]: page(type),
  };
  const needed = new Set([
    title,
    ...type.operations.flatMap((operation) => Object.values(schemaNames(type, operation))),
  ]);
  return Object.fromEntries(Object.entries(possible).filter(([name]) => needed.has(name)));
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
  const required = givenFieldsOf(type, 'create').flatMap(([name, { onCreate }]) =>
    onCreate === 'required' ? [name] : [],
  );
  return {
    ...object(`A new ${type.title}.`, Object.fromEntries(properties), required),
    additionalProperties: false,
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
      links: object('Where this page and the next one are.', { self: SELF, next: NEXT }, ['self']),
      ...(type.owner === undefined ? {} : { metadata: METADATA }),
    },
    [type.collection, 'links'],
  );
}

/** The bodies of error answers, by name. */
export const ERROR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: object(
    'What every refusal but that of a missing or unknown token looks like.',
    {
      code: { type: 'integer', description: 'The status of the answer.', examples: [409] },
      type: {
        type: 'string',
        description: 'What is wrong, for programs.',
        examples: ['duplicate_tld'],
      },
      message: { type: 'string', description: 'What is wrong, for people.' },
      request_id: {
        type: 'string',
        pattern: '^req-[0-9a-f-]{36}$',
        description:
          'The id of the request in the log of the service; absent when no whole request arrived.',
        examples: [EXAMPLE_REQUEST_ID],
      },
      errors: object('Only when members of the body are at fault.', {
        errors: {
          type: 'array',
          description: 'Everything that is wrong with the body.',
          items: object('One thing that is wrong.', {
            path: {
              type: 'array',
              items: { type: ['string', 'integer'] },
              description: 'Where the member is, from the outside in.',
            },
            message: { type: 'string', description: 'What is wrong with it.' },
            validator: {
              type: 'string',
              description: 'The rule that was broken.',
              examples: ['required'],
            },
          }),
        },
      }),
    },
    ['code', 'type', 'message'],
  ),
  AuthenticationError: object(
    "The refusal of a missing or unknown token, in the form of OpenStack's identity service.",
    {
      error: object('The refusal.', {
        code: { type: 'integer', const: 401, description: 'The status of the answer.' },
        title: {
          type: 'string',
          description: 'The name of the status.',
          examples: ['Unauthorized'],
        },
        message: { type: 'string', description: 'What is wrong, for people.' },
      }),
    },
  ),
};
