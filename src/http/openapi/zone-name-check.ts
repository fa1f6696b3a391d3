import type { JsonSchema } from '../../domain/model/field.ts';
import { tld } from '../../domain/resources/tld.ts';
import { checkName, MAX_NAMES, readNames, type NameCheck } from '../../domain/operations/zone-name-check.ts';
import type { Paths } from './document.ts';
import { thrownBy } from './examples.ts';
import { commonParameters } from './parameters.ts';
import { ERRORS_WITH_TOKEN, errorResponses, headers, json, type ApiSettings } from './responses.ts';
import { schemaReference } from './schemas.ts';

/** What the check of zone names takes and answers, by name. */
export const ZONE_NAME_CHECK_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ZoneNames: {
    type: 'object',
    description: 'Names to check.',
    required: ['names'],
    additionalProperties: false,
    properties: {
      names: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_NAMES,
        items: { type: 'string' },
        description: 'Names of zones that might be created. A final period may be left out.',
      },
    },
  },
  ZoneNameChecks: {
    type: 'object',
    description: 'What the check of zone names found.',
    required: ['checks'],
    properties: {
      checks: {
        type: 'array',
        description: 'What would become of each name, in the order in which they were given.',
        items: {
          type: 'object',
          required: ['name', 'allowed', 'rule', 'message'],
          properties: {
            name: { type: 'string', description: 'The name as it was given.' },
            allowed: { type: 'boolean', description: 'Whether a zone of this name passes the checks of names.' },
            rule: {
              enum: ['domain_name', 'more_than_one_label', 'tld_entry', 'not_a_tld', null],
              description:
                'The check that the name fails: it is no domain name, has one label only, ends in no TLD entry, or is a TLD entry itself. Null for a name that is allowed.',
            },
            message: { type: ['string', 'null'], description: 'The same for people.' },
          },
        },
      },
    },
  },
};

const CHECKS: NameCheck[] = [
  { name: 'example.com.', allowed: true, rule: null, message: null },
  checkName('com', { any: false, has: () => false }, 'last-label'),
];

/** The path at which zone names are checked. */
export function zoneNameCheckPath(settings: ApiSettings): Paths {
  const errors = ['unsupported_content_type', 'empty_request_body', 'invalid_json', 'invalid_object'] as const;
  const invalid = thrownBy(() => readNames({ names: [] }));
  return {
    '/v2/tlds/check': {
      parameters: commonParameters(settings.requestIdHeader),
      post: {
        operationId: 'check_zone_names',
        summary: 'Check zone names against the TLD entries',
        description: `Tells of up to ${MAX_NAMES} names whether a zone could be created under each, as far as names and TLD entries go, and changes nothing.\n\nNeeds the right \`zones:create\`.`,
        tags: [tld.collection],
        security: [{ token: [] }, { bearer: [] }],
        requestBody: {
          required: true,
          content: json(schemaReference('ZoneNames'), { names: { summary: 'Two names.', value: { names: CHECKS.map(({ name }) => name) } } }),
        },
        responses: {
          200: {
            description: 'What would become of each name.',
            headers: headers(settings),
            content: json(schemaReference('ZoneNameChecks'), { names: { summary: 'One of each.', value: { checks: CHECKS } } }),
          },
          ...errorResponses(settings, tld, [...ERRORS_WITH_TOKEN, ...errors], { invalid_object: invalid }),
        },
      },
    },
  };
}
