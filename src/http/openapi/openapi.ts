import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { ApiDocument, Paths } from './document.ts';
import { OPEN_TAG } from './open-paths.ts';
import { collectionPaths } from './operations.ts';
import { sharedParameters } from './parameters.ts';
import { describeHeaders, sharedResponses, type ApiSettings } from './responses.ts';
import { ERROR_SCHEMAS, resourceSchemas } from './schemas.ts';

/** What is served beside collections. */
export interface Further {
  readonly paths: Paths;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

const DESCRIPTION = `Tsigil keeps zones and the pools of name servers that serve them, the TSIG keys by which name servers trust each other, and the top-level domains under which zones may be created.

Bodies are JSON in UTF-8, answers have the type \`application/json; charset=UTF-8\`, and \`Accept\` is ignored. Every path that has \`GET\` has \`HEAD\` as well, and every path answers \`OPTIONS\` with the methods it has. Slashes at the end of a path do not count.

Whoever has no right to do something learns nothing else: rights are checked before bodies and before whether a resource exists.`;

/**
 * Describes the API as an OpenAPI 3.1 document: the collections of `types`, of which there must be one at least, and
 * whatever else is served at `paths`, with the `schemas` that those refer to.
 */
export function describeApi(
  settings: ApiSettings,
  types: readonly [ResourceType, ...ResourceType[]],
  { paths, schemas }: Further,
): ApiDocument {
  const [first] = types;
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tsigil',
      version: settings.version,
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: settings.base }],
    externalDocs: { description: 'This document as a page', url: `${settings.base}/docs` },
    tags: [
      ...types.map(({ collection, description }) => ({ name: collection, description })),
      OPEN_TAG,
    ],
    paths: {
      ...Object.fromEntries(
        types.flatMap((type) => Object.entries(collectionPaths(settings, type))),
      ),
      ...paths,
    },
    components: {
      schemas: {
        ...Object.fromEntries(types.flatMap((type) => Object.entries(resourceSchemas(type)))),
        ...schemas,
        ...ERROR_SCHEMAS,
      },
      parameters: sharedParameters(settings),
      headers: describeHeaders(settings, first),
      responses: sharedResponses(settings, first),
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Auth-Token',
          description: 'The token as it is.',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token as RFC 6750 has it. `X-Auth-Token` wins where both are sent.',
        },
      },
    },
  };
}
