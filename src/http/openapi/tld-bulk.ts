import { MAX_ENTRIES, MAX_LIST_BYTES, MODES, readBulkRequest } from '../../domain/operations/bulk-request.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import { tld } from '../../domain/resources/tld.ts';
import type { Example, Paths } from './document.ts';
import { thrownBy } from './examples.ts';
import { EXAMPLE_ID } from './examples.ts';
import { commonParameters } from './parameters.ts';
import { ERRORS_WITH_TOKEN, errorResponses, headers, json, type ApiSettings } from './responses.ts';
import { schemaReference } from './schemas.ts';

const { schema: nameSchema } = tld.fields.name;
const { schema: descriptionSchema } = tld.fields.description;

const REQUEST: JsonSchema = {
  type: 'object',
  required: ['tlds'],
  additionalProperties: false,
  properties: {
    mode: {
      enum: MODES,
      default: MODES[0],
      description: 'What becomes of the list when an entry of it is refused: nothing at all is changed, or all others are applied.',
    },
    replace: {
      type: 'boolean',
      default: false,
      description: 'Whether entries that are not in the list are removed. Needs the mode `transactional` and the right `tlds:delete`.',
    },
    dry_run: { type: 'boolean', default: false, description: 'Whether nothing is changed, and the answer tells what would be.' },
    tlds: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_ENTRIES,
      items: {
        type: 'object',
        required: ['name'],
        additionalProperties: false,
        properties: {
          name: { ...nameSchema, description: tld.fields.name.description },
          description: { ...descriptionSchema, description: tld.fields.description.description },
        },
      },
      description: 'The entries, each as it would be created. No two may have the same name.',
    },
  },
};

const COUNTS = {
  added: 'Entries that were not there.',
  unchanged: 'Entries that were there as given.',
  updated: 'Entries that were there and differed in a member that was given.',
  refused: 'Entries that were not applied.',
  removed: 'What was there and is not in the list.',
};

const ANSWER: JsonSchema = {
  type: 'object',
  required: ['mode', 'replace', 'dry_run', 'counts', 'results', 'removed'],
  properties: {
    mode: { enum: MODES, description: 'As in the request.' },
    replace: { type: 'boolean', description: 'As in the request.' },
    dry_run: { type: 'boolean', description: 'As in the request.' },
    counts: {
      type: 'object',
      description: 'How many there are of each outcome.',
      required: Object.keys(COUNTS),
      properties: Object.fromEntries(Object.entries(COUNTS).map(([name, description]) => [name, { type: 'integer', minimum: 0, description }])),
    },
    results: {
      type: 'array',
      description: 'What became of each entry, in the order of the list.',
      items: {
        type: 'object',
        required: ['index', 'outcome'],
        properties: {
          index: { type: 'integer', minimum: 0, description: 'The place of the entry in the list.' },
          outcome: { enum: ['added', 'unchanged', 'updated', 'refused'], description: 'What became of it.' },
          id: {
            type: ['string', 'null'],
            format: 'uuid',
            description: 'The id of the Tld. Null for one that a dry run would add; absent if refused.',
          },
          name: { ...nameSchema, description: 'The name as it is kept. Absent if refused.' },
          previous: {
            type: 'object',
            description: 'Only if updated: the members that changed, as they were.',
            properties: { description: descriptionSchema },
          },
          type: { type: 'string', description: 'Only if refused: the type of the error that the entry alone would have met.' },
          message: { type: 'string', description: 'Only if refused: the same for people.' },
        },
      },
    },
    removed: {
      type: 'array',
      description: 'What was removed.',
      items: {
        type: 'object',
        required: ['id', 'name', 'description'],
        properties: { id: { type: 'string', format: 'uuid' }, name: nameSchema, description: descriptionSchema },
      },
    },
  },
};

const NONE = { added: 0, unchanged: 0, updated: 0, refused: 0, removed: 0 };

const REQUESTS: Record<string, Example> = {
  whole: {
    summary: 'All entries or none.',
    value: { tlds: [{ name: 'example' }, { name: 'co.example', description: 'Companies' }] },
  },
  each: {
    summary: 'As many entries as are good, and first only to see.',
    value: { mode: 'per-item', dry_run: true, tlds: [{ name: 'example' }, { name: 'no tld' }] },
  },
};

const ANSWERS: Record<string, Example> = {
  whole: {
    summary: 'One was there with another description.',
    value: {
      mode: 'transactional',
      replace: false,
      dry_run: false,
      counts: { ...NONE, added: 1, updated: 1 },
      results: [
        { index: 0, outcome: 'added', id: EXAMPLE_ID, name: 'example' },
        { index: 1, outcome: 'updated', id: '5f8d5c1e-3a52-4b7c-9f0e-2d1c0b9a8e7f', name: 'co.example', previous: { description: null } },
      ],
      removed: [],
    },
  },
  each: {
    summary: 'One would be added.',
    value: {
      mode: 'per-item',
      replace: false,
      dry_run: true,
      counts: { ...NONE, added: 1, refused: 1 },
      results: [
        { index: 0, outcome: 'added', id: null, name: 'example' },
        { index: 1, outcome: 'refused', type: 'invalid_object', message: "'name' must be labels joined by single periods" },
      ],
      removed: [],
    },
  },
};

const DESCRIPTION = `Brings the TLD entries in line with a list of up to ${MAX_ENTRIES} in ${MAX_LIST_BYTES} bytes at most, in one transaction. An entry is known by its name: one that is not there is created; one that is there keeps its spelling and gets the members that are given, if they differ. The rest stays, unless \`replace\` is true.

In the mode \`transactional\` one bad entry makes the answer 400, with every problem of every entry in \`errors\`, and nothing is changed. In the mode \`per-item\` the answer is 200 and tells which were refused.

Needs the right \`tlds:create\`, to change an entry that is there \`tlds:update\` and to replace \`tlds:delete\`.`;

/** The schemas of the request and its answer, by name. */
export const TLD_BULK_SCHEMAS = { TldChanges: REQUEST, TldChangesResult: ANSWER };

/** The path at which many TLD entries are changed. */
export function tldBulkPath(settings: ApiSettings): Paths {
  const errors = ['unsupported_content_type', 'empty_request_body', 'invalid_json', 'invalid_object'] as const;
  const invalid = thrownBy(() => readBulkRequest({ tlds: [] }));
  return {
    '/v2/tlds/bulk': {
      parameters: commonParameters(settings.requestIdHeader),
      post: {
        operationId: 'change_tlds',
        summary: 'Change many Tlds',
        description: DESCRIPTION,
        tags: [tld.collection],
        security: [{ token: [] }, { bearer: [] }],
        requestBody: { required: true, content: json(schemaReference('TldChanges'), REQUESTS) },
        responses: {
          200: { description: 'What became of each entry.', headers: headers(settings), content: json(schemaReference('TldChangesResult'), ANSWERS) },
          ...errorResponses(settings, tld, [...ERRORS_WITH_TOKEN, ...errors], { invalid_object: invalid }),
        },
      },
    },
  };
}
