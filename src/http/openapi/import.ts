import type { JsonSchema } from '../../domain/model/field.ts';
import { givenFields, uniqueOf, type ResourceType } from '../../domain/model/resource.ts';
import { IMPORTABLE_TYPES, importRight } from '../../domain/resources/resources.ts';
import { MAX_IMPORTED, type ImportResult } from '../../domain/operations/import.ts';
import type { PathItem, Paths } from './document.ts';
import { CREATED_AT } from './examples.ts';
import { commonParameters } from './parameters.ts';
import { ERRORS_WITH_TOKEN, errorResponses, headers, json, type ApiSettings } from './responses.ts';

const ANSWER: JsonSchema = {
  type: 'object',
  required: ['imported', 'unchanged'],
  properties: {
    imported: { type: 'integer', description: 'How many resources were created.' },
    unchanged: { type: 'integer', description: 'How many were there already, just the same.' },
  },
};

/** What the examples had for ids elsewhere. */
const FORMER_IDS: Readonly<Record<string, string>> = {
  tlds: '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
  tsigkeys: '8c1e9d47-02b6-4f3a-9e5d-6a7b4c3d2e1f',
};

/** The paths at which resources are made with their ids and timestamps. */
export function importPaths(settings: ApiSettings): Paths {
  return Object.fromEntries(IMPORTABLE_TYPES.map((type) => [`/v2/${type.collection}/import`, importPath(settings, type)]));
}

function importPath(settings: ApiSettings, type: ResourceType): PathItem {
  const errors = ['unsupported_content_type', 'empty_request_body', 'invalid_json', 'invalid_object', 'duplicate'] as const;
  const example = Object.fromEntries(givenFields(type).map((name) => [name, type.fields[name]?.example]));
  const { field } = uniqueOf(type);
  const name = `former-${String(example[field])}`;
  const items = [{ id: FORMER_IDS[type.collection], ...example, [field]: name, created_at: CREATED_AT, updated_at: null }];
  const result: ImportResult = { imported: 1, unchanged: 0 };
  return {
    parameters: commonParameters(settings.requestIdHeader),
    post: {
      operationId: `import_${type.collection}`,
      summary: `Import ${type.collection}`,
      description: `Makes up to ${MAX_IMPORTED} resources with their ids and timestamps, as another service shows them: all or none. Those that exist just so are left alone; where an id or name belongs to another resource, nothing is made.\n\nNeeds the right \`${importRight(type)}\`.`,
      tags: [type.collection],
      security: [{ token: [] }, { bearer: [] }],
      requestBody: { required: true, content: json(request(type), { one: { summary: 'One resource.', value: { [type.collection]: items } } }) },
      responses: {
        200: {
          description: 'What was done.',
          headers: headers(settings),
          content: json(ANSWER, { one: { summary: 'It was made.', value: result } }),
        },
        ...errorResponses(settings, type, [...ERRORS_WITH_TOKEN, ...errors, ...(type.refusals?.create ?? [])]),
      },
    },
  };
}

function request(type: ResourceType): JsonSchema {
  const fields = givenFields(type);
  const stamp = { type: 'string', description: 'A moment in UTC, as answers show it.' };
  return {
    type: 'object',
    required: [type.collection],
    additionalProperties: false,
    properties: {
      [type.collection]: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_IMPORTED,
        description: 'Whole resources, as answers show them.',
        items: {
          type: 'object',
          required: ['id', ...fields, 'created_at', 'updated_at'],
          properties: {
            id: { type: 'string', format: 'uuid', description: 'The id to give it.' },
            ...Object.fromEntries(fields.map((name) => [name, { ...type.fields[name]?.schema, description: type.fields[name]?.description }])),
            created_at: stamp,
            updated_at: { ...stamp, type: ['string', 'null'] },
            links: { type: 'object', description: 'May be there, and means nothing.' },
          },
          additionalProperties: false,
        },
      },
    },
  };
}
