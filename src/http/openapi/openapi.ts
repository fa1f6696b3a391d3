import type { Action, ActionGroup } from '../../domain/actions/action.ts';
import { BRANDS } from '../../domain/brands/brands.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import { capitalised } from '../../domain/text/capitalised.ts';
import type { ApiDocument } from './document.ts';
import { OPEN_TAG, openPaths } from './open-paths.ts';
import { actionPaths, collectionPaths } from './operations.ts';
import { SHARED_PARAMETERS } from './parameters.ts';
import { HEADERS, sharedResponses } from './responses.ts';
import { ERROR_SCHEMA, resourceSchemas, withDefaultsInWords } from './schemas.ts';

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

A path that does not exist returns 404 with the type \`not_found\`. The response for each status of an error lists all types of errors with this status; an operation lists those of its own.

The service checks rights before it reads a body or looks for a resource. A caller who lacks the right therefore cannot find out whether a resource exists. With the setting \`auth.insufficientRightsStatus: 403\`, such a request gets 403 with the type \`forbidden\` instead of 401 with the type \`access_denied\`.`;

export interface Described {
  readonly version: string;
  /** The URL of the folder with the guides. */
  readonly guides: string;
  readonly types: readonly ResourceType[];
  readonly actions: readonly Action[];
}

/** Returns the description of the API, which is the same for every host and all settings. */
export function describeApi(described: Described): Omit<ApiDocument, 'servers'> {
  const { version, guides, types, actions } = described;
  const groups = [...new Set(actions.flatMap(({ group }) => group ?? []))];
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tsigil',
      version,
      description: DESCRIPTION,
      contact: { name: 'The operator of this service' },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    tags: [...types.map(groupOf), ...groups, OPEN_TAG].map((group) => tagOf(guides, group)),
    paths: {
      ...Object.fromEntries(types.flatMap((type) => Object.entries(collectionPaths(type)))),
      ...actionPaths(actions),
      ...openPaths(),
    },
    components: {
      schemas: {
        ...Object.fromEntries(types.flatMap((type) => Object.entries(resourceSchemas(type)))),
        ...Object.fromEntries(actions.flatMap(actionSchemas)),
        Error: ERROR_SCHEMA,
      },
      parameters: SHARED_PARAMETERS,
      headers: HEADERS,
      responses: sharedResponses([...new Set([...types, ...actions.map(({ type }) => type)])]),
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

function groupOf({ collection, words, description }: ResourceType): ActionGroup {
  return { name: collection, title: capitalised(words.many), description };
}

function tagOf(guides: string, { name, title, description }: ActionGroup) {
  const tag = { name, 'x-displayName': title, description };
  const [file, about] = GUIDES[name] ?? [];
  return file === undefined || about === undefined
    ? tag
    : { ...tag, externalDocs: { description: about, url: `${guides}/${file}` } };
}

function actionSchemas(action: Action): [string, JsonSchema][] {
  const { body } = action;
  const request: [string, JsonSchema][] =
    body === undefined ? [] : [[body.schemaName, withDefaultsInWords(body.kind.schema)]];
  if (!('response' in action)) return request;
  return [...request, [action.response.schemaName, action.response.kind.schema]];
}
