import { BRANDS } from '../../domain/brands/brands.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { ApiDocument, Paths } from './document.ts';
import type { ActionGroup } from '../../domain/actions/action.ts';
import { OPEN_TAG } from './open-paths.ts';
import { collectionPaths } from './operations.ts';
import { sharedParameters } from './parameters.ts';
import { describeHeaders, sharedResponses, type ApiSettings } from './responses.ts';
import { ERROR_SCHEMAS, resourceSchemas } from './schemas.ts';
import { capitalised } from '../../domain/text/capitalised.ts';

/** The parts of the document that do not describe collections. */
export interface Further {
  readonly paths: Paths;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** The groups of operations that do not belong to a collection. */
  readonly groups?: readonly ActionGroup[];
}

const GUIDES: Readonly<Record<string, readonly [file: string, title: string]>> = {
  tsigkeys: ['keys.md', 'Export, import and verify TSIG keys'],
  nameservers: ['delivery.md', 'Delivery of keys'],
  zones: ['signed-transfers.md', 'Sign zone transfers'],
  tlds: ['importing-tlds.md', 'Import TLDs from a list'],
  tokens: ['keystone.md', 'Keystone'],
  encryption: ['encryption.md', 'Master key'],
  audit: ['audit.md', 'Audit trail'],
};

const RECEIVERS = new Intl.ListFormat('en-GB').format(
  Object.values(BRANDS).map(({ title }) => title),
);

const DESCRIPTION = `Tsigil keeps the TSIG keys of an organisation in one place, and delivers them: a key that you create for a pool or a zone works on its name servers within about a second, and a key that you delete is refused there just as soon. ${RECEIVERS} can receive keys.

Besides keys, Tsigil stores the name servers, the pools that they form, the zones that they serve, and the top-level domains under which zones can be created.

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
    tags: [
      ...types.map(({ collection, words, description }) => ({
        name: collection,
        title: capitalised(words.many),
        description,
      })),
      ...groups,
      OPEN_TAG,
    ].map((group) => tagOf(settings, group)),
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
      parameters: sharedParameters(settings.defaultLimit),
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

function tagOf({ guides }: ApiSettings, { name, title, description }: ActionGroup) {
  const [file, about] = GUIDES[name] ?? [];
  return {
    name,
    'x-displayName': title,
    description,
    ...(file === undefined || about === undefined
      ? {}
      : { externalDocs: { description: about, url: `${guides}/${file}` } }),
  };
}
