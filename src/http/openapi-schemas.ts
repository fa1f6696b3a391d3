import type { JsonSchema } from '../domain/field.ts';
import type { Operation, ResourceType } from '../domain/resource.ts';
import { MAX_LIMIT } from '../domain/settings.ts';
import { CREATED_AT, EXAMPLE_ID, EXAMPLE_REQUEST_ID, fieldsOf, shownOnce, UPDATED_AT } from './openapi-examples.ts';

type Properties = Readonly<Record<string, JsonSchema>>;

const SELF: JsonSchema = { type: 'string', format: 'uri', description: 'The absolute URL of what holds this link.' };

const NEXT: JsonSchema = { type: 'string', format: 'uri', description: 'The absolute URL of the next page; only on a page that is full.' };

const BEFORE_FIELDS: Properties = {
  id: { type: 'string', format: 'uuid', readOnly: true, description: 'The id, given by the service.', examples: [EXAMPLE_ID] },
};

const AFTER_FIELDS: Properties = {
  created_at: moment('string', 'When the resource was created: UTC, with microseconds and without a zone.', CREATED_AT),
  updated_at: moment(['string', 'null'], 'When the resource was last updated; null until the first time.', UPDATED_AT),
  links: { ...object('Where the resource is.', { self: SELF }), readOnly: true },
};

function moment(type: string | string[], description: string, example: string): JsonSchema {
  return { type, pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}$', readOnly: true, description, examples: [example] };
}

/** An object in an answer: every member is always there, unless `required` says otherwise; later versions may add some. */
function object(description: string, properties: Properties, required = Object.keys(properties)): JsonSchema {
  return { type: 'object', description, required, properties };
}

/** A reference to a schema of the document. */
export function schemaReference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The names of the schemas of an operation's request body and of the body of its answer. */
export function schemaNames(type: ResourceType, operation: Operation): { request?: string; answer?: string } {
  const { title } = type;
  const names: Record<Operation, { request?: string; answer?: string }> = {
    create: { request: `${title}Create`, answer: Object.keys(shownOnce(type)).length > 0 ? `${title}Created` : title },
    list: { answer: `${title}List` },
    get: { answer: title },
    update: { request: `${title}Update`, answer: title },
    delete: {},
  };
  return names[operation];
}

/** Every schema that the operations of `type` refer to, by name. */
export function resourceSchemas(type: ResourceType): Record<string, JsonSchema> {
  const { title } = type;
  const fields: Properties = Object.fromEntries(
    fieldsOf(type).map(([name, { schema, description, example }]) => [name, { ...schema, description, examples: [example] }]),
  );
  const members = { ...BEFORE_FIELDS, ...fields, ...AFTER_FIELDS };
  const once: Properties = Object.fromEntries(
    Object.entries(shownOnce(type)).map(([name, example]) => [
      name,
      { type: typeof example, readOnly: true, description: 'Shown in this answer and never again.', examples: [example] },
    ]),
  );
  const possible: Record<string, JsonSchema> = {
    [title]: object(type.description, members),
    [`${title}Create`]: creation(type, fields),
    [`${title}Created`]: object(`The answer to the creation of a ${title}.`, { ...members, ...once }),
    [`${title}Update`]: {
      type: 'object',
      description: `What to change about a ${title}. Members that are left out stay as they are.`,
      additionalProperties: false,
      properties: fields,
    },
    [`${title}List`]: page(type),
  };
  const needed = new Set([title, ...type.operations.flatMap((operation) => Object.values(schemaNames(type, operation)))]);
  return Object.fromEntries(Object.entries(possible).filter(([name]) => needed.has(name)));
}

function creation(type: ResourceType, fields: Properties): JsonSchema {
  const properties = fieldsOf(type).map(([name, { onCreate }]) => {
    const hasDefault = onCreate !== 'required' && onCreate.default !== undefined;
    return [name, { ...fields[name], ...(hasDefault ? { default: onCreate.default } : {}) }] as const;
  });
  const required = fieldsOf(type).flatMap(([name, { onCreate }]) => (onCreate === 'required' ? [name] : []));
  return { ...object(`A new ${type.title}.`, Object.fromEntries(properties), required), additionalProperties: false };
}

function page(type: ResourceType): JsonSchema {
  return object(`One page of the ${type.collection}.`, {
    [type.collection]: { type: 'array', maxItems: MAX_LIMIT, description: 'The resources of this page.', items: schemaReference(type.title) },
    links: object('Where this page and the next one are.', { self: SELF, next: NEXT }, ['self']),
  });
}

/** The bodies of error answers, by name. */
export const ERROR_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Error: object(
    'What every refusal but that of a missing or unknown token looks like.',
    {
      code: { type: 'integer', description: 'The status of the answer.', examples: [409] },
      type: { type: 'string', description: 'What is wrong, for programs.', examples: ['duplicate_tld'] },
      message: { type: 'string', description: 'What is wrong, for people.' },
      request_id: {
        type: 'string',
        pattern: '^req-[0-9a-f-]{36}$',
        description: 'The id of the request in the log of the service; absent when no whole request arrived.',
        examples: [EXAMPLE_REQUEST_ID],
      },
      errors: object('Only when members of the body are at fault.', {
        errors: {
          type: 'array',
          description: 'Everything that is wrong with the body.',
          items: object('One thing that is wrong.', {
            path: { type: 'array', items: { type: ['string', 'integer'] }, description: 'Where the member is, from the outside in.' },
            message: { type: 'string', description: 'What is wrong with it.' },
            validator: { type: 'string', description: 'The rule that was broken.', examples: ['required'] },
          }),
        },
      }),
    },
    ['code', 'type', 'message'],
  ),
  AuthenticationError: object("The refusal of a missing or unknown token, in the form of OpenStack's identity service.", {
    error: object('The refusal.', {
      code: { type: 'integer', const: 401, description: 'The status of the answer.' },
      title: { type: 'string', description: 'The name of the status.', examples: ['Unauthorized'] },
      message: { type: 'string', description: 'What is wrong, for people.' },
    }),
  }),
};
