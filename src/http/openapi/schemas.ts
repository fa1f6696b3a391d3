import { EXAMPLE_ID } from '../../core/error-entry.ts';
import { nullable, timestamp, uuid, type Field, type JsonSchema } from '../../core/field.ts';
import {
  givenFields,
  shownFields,
  timestampsOf,
  type Operation,
  type ResourceType,
} from '../../core/resource.ts';
import { revealRight, secretFields } from '../../core/response.ts';
import { MAX_LIMIT } from '../../core/settings.ts';

type Described = Pick<Field, 'schema' | 'description' | 'example'>;
type Schemas = Readonly<Record<string, JsonSchema>>;

/** Returns the schema of an object. Every member is present unless `required` omits it. */
function object(
  description: string,
  properties: Schemas,
  required = Object.keys(properties),
): JsonSchema {
  return { type: 'object', description, required, properties };
}

function text(description: string): JsonSchema {
  return { type: 'string', description };
}

function member({ schema, description, example }: Described): JsonSchema {
  return { ...schema, description, examples: [example] };
}

function mapped<T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

export function schemaReference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const ID = member({ ...uuid(), description: 'The id of the resource.', example: EXAMPLE_ID });

const TIMESTAMPS: Schemas = {
  created_at: member({
    ...timestamp(),
    description: 'The time of creation, in UTC with microseconds and without a time zone.',
    example: '2026-01-31T12:00:00.123456',
  }),
  updated_at: member({
    ...nullable(timestamp()),
    description: 'The time of the last update. Null before the first update.',
    example: '2026-02-01T08:30:00.654321',
  }),
};

const SELF: JsonSchema = { ...text('The absolute URL of this resource or page.'), format: 'uri' };

const LINKS = object('The link to the resource.', { self: SELF });

const PAGE_LINKS = object(
  'The links to this page and the next page.',
  {
    self: SELF,
    next: { ...SELF, description: 'The URL of the next page. Present if more may follow.' },
  },
  ['self'],
);

const METADATA = object(
  'Absent if the request has the header OpenStack-DNS-Hide-Counts, or if the service would have to scan resources to count them.',
  { total_count: { type: 'integer', description: 'The number of resources on all pages.' } },
);

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

export function resourceSchemas(type: ResourceType): [string, JsonSchema][] {
  const { title, collection, description, operations, owner, shownOnce } = type;
  const secrets = secretFields(type);
  const note = ` Responses contain this member only for callers with the right \`${revealRight(type)}\`.`;
  const fields = mapped(type.fields, (field) =>
    member(field.secret === true ? { ...field, description: field.description + note } : field),
  );
  const members: Record<string, JsonSchema> = { id: ID };
  for (const name of shownFields(type)) members[name] = fields[name] ?? {};
  // A secret that was lost with the master key is empty in responses.
  for (const name of secrets) members[name] = { ...fields[name], minLength: 0 };
  for (const name of timestampsOf(type)) members[name] = TIMESTAMPS[name] ?? {};
  members.links = LINKS;
  const present = Object.keys(members).filter((name) => !secrets.includes(name));
  const items = { type: 'array', maxItems: MAX_LIMIT, items: schemaReference(title) };
  const page = { [collection]: items, links: PAGE_LINKS };
  const schemas: Readonly<Partial<Record<Operation, Schemas>>> = {
    create: {
      [`${title}Create`]: creation(type, fields),
      ...(shownOnce && {
        [`${title}Created`]: object(
          `The response to a request that creates a ${title}. No other has all members.`,
          { ...members, ...mapped(shownOnce, member) },
          [...present, ...Object.keys(shownOnce)],
        ),
      }),
    },
    update: { [`${title}Update`]: update(type, fields) },
    list: {
      [`${title}List`]: object(
        `One page of the ${collection}.`,
        owner === undefined ? page : { ...page, metadata: METADATA },
        Object.keys(page),
      ),
    },
  };
  const own = operations.flatMap((operation) => Object.entries(schemas[operation] ?? {}));
  return [[title, object(description, members, present)], ...own];
}

function creation(type: ResourceType, fields: Schemas): JsonSchema {
  const { title, variants = [], requestOnly = {} } = type;
  const given = givenFieldsOf(type, 'create');
  // A variant is recognised by its `properties`, and decides which other members a resource needs.
  const conditional = variants.flatMap(({ properties = {}, required = [] }) =>
    required.filter((name) => !Object.hasOwn(properties, name)),
  );
  const own = given.map(([name, { onCreate }]): [string, JsonSchema] => {
    const value = onCreate === 'required' ? null : onCreate.default;
    const hasDefault = value != null && !conditional.includes(name);
    return [name, { ...fields[name], ...(hasDefault ? { default: value } : {}) }];
  });
  const references = referencesOf(type);
  const required = given.flatMap(([name, field]) => (field.onCreate === 'required' ? [name] : []));
  const always = required.filter((name) => !references.some((each) => each.fields.includes(name)));
  const replaceable = required.filter((name) => !always.includes(name));
  const replacements = references.map((reference) => [reference.member]);
  const alternatives =
    replaceable.length === 0
      ? variants
      : [replaceable, ...replacements].map((names) => ({ required: names }));
  const members = {
    ...Object.fromEntries(own),
    ...referenceMembers(type, given),
    ...mapped(requestOnly, member),
  };
  return {
    ...withDefaultsInWords(object(`A new ${title}.`, members, always)),
    ...(alternatives.length === 0 ? {} : { anyOf: alternatives }),
    additionalProperties: false,
  };
}

function update(type: ResourceType, fields: Schemas): JsonSchema {
  const given = givenFieldsOf(type, 'update');
  const own = Object.fromEntries(given.map(([name]) => [name, fields[name] ?? {}]));
  const description = `The changes to a ${type.title}. Omitted members do not change. A client can change one member and send the whole resource: the members that only the service sets are ignored if \`id\` and \`created_at\` are those of the resource. Otherwise, they are refused.`;
  return object(description, { ...own, ...referenceMembers(type, given) }, []);
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

function referenceMembers(type: ResourceType, given: readonly [string, Field][]): Schemas {
  const names = given.map(([name]) => name);
  const members = referencesOf(type)
    .filter(({ fields }) => fields.every((field) => names.includes(field)))
    .map(({ member: name, noun, example, fields }): [string, JsonSchema] => {
      const instead = fields.map((field) => `\`${field}\``).join(' and ');
      const description = `The name of an existing ${noun}, instead of ${instead}.`;
      return [name, { ...text(description), examples: [example] }];
    });
  return Object.fromEntries(members);
}

/**
 * Returns the schema of a request body with its defaults in descriptions. Client generators treat a
 * member with `default` as always present, and would require the member in requests.
 */
export function withDefaultsInWords(schema: JsonSchema): JsonSchema {
  const properties = mapped(schema.properties ?? {}, ({ default: value, ...each }) =>
    value === undefined
      ? each
      : { ...each, description: `${each.description} Default: \`${JSON.stringify(value)}\`.` },
  );
  return { ...schema, properties };
}

export const ERROR_SCHEMA = object(
  'The body of every error response.',
  {
    code: { type: 'integer', description: 'The status of the response.' },
    type: text('The type of the error, for programs.'),
    message: text('The description of the error, for people.'),
    request_id: text('The request id. Absent if the service did not receive the whole request.'),
    errors: object('Present only if members of the body are invalid.', {
      errors: {
        type: 'array',
        description: 'All problems with the body.',
        items: object('A problem.', {
          path: {
            type: 'array',
            description: 'The path of the member, outermost name first.',
            items: { type: ['string', 'integer'] },
          },
          message: text('The description of the problem.'),
          validator: text('The violated rule, such as `required`.'),
        }),
      },
    }),
  },
  ['code', 'type', 'message'],
);
