import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { ApiDocument, Paths } from './document.ts';
import { OPEN_TAG } from './open-paths.ts';
import { collectionPaths } from './operations.ts';
import { sharedParameters } from './parameters.ts';
import { describeHeaders, sharedResponses, type ApiSettings } from './responses.ts';
import { ERROR_SCHEMAS, resourceSchemas } from './schemas.ts';

/** The parts of the document that do not describe collections. */
export interface Further {
  readonly paths: Paths;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** The groups of operations that do not belong to a collection. */
  readonly groups?: readonly { readonly name: string; readonly description: string }[];
}

const DESCRIPTION = `Tsigil stores DNS zones, and pools of name servers that serve them. It also stores TSIG keys that authenticate name servers to each other, and top-level domains under which zones can be created.

Bodies are JSON in UTF-8. Responses have the type \`application/json; charset=UTF-8\`. \`Accept\` selects another type only where an operation lists it. Every path with \`GET\` also supports \`HEAD\`. Every path supports \`OPTIONS\`, whose response lists the methods. Slashes at the end of a path are ignored.

A path that does not exist returns 404 with the type \`not_found\`.

The service checks rights before it reads a body or looks for a resource. A caller who lacks the right therefore cannot find out whether a resource exists.`;

/**
 * Returns the API description as an OpenAPI 3.1 document. It describes the collections of `types`,
 * which must not be empty, and the given `paths` with their `schemas`.
 */
export function describeApi(
  settings: ApiSettings,
  types: readonly [ResourceType, ...ResourceType[]],
  { paths, schemas, groups = [] }: Further,
): ApiDocument {
  const [first] = types;
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tsigil',
      version: settings.version,
      description: DESCRIPTION,
      contact: { name: 'The operator of this service', url: `${settings.base}/docs` },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: settings.base }],
    externalDocs: { description: 'This document as an HTML page', url: `${settings.base}/docs` },
    tags: [
      ...types.map(({ collection, description }) => ({ name: collection, description })),
      ...groups,
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
          description: 'The token without a prefix.',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token as a bearer token (RFC 6750). If both headers are sent, `X-Auth-Token` takes precedence.',
        },
      },
    },
  };
}
