import type { Action } from '../../resources/operations/action.ts';
import { BRANDS } from '../../brands/brands.ts';
import type { JsonSchema } from '../../core/field.ts';
import { DOCUMENTED_TYPES } from '../../resources/resources.ts';
import { REQUEST_ID_HEADER } from '../request/context.ts';
import type { ApiDocument } from './document.ts';
import { OPEN_TAG, openPaths } from './open-paths.ts';
import { joined } from '../../core/text/joined.ts';
import { apiPaths } from './operations.ts';
import { SHARED_PARAMETERS } from './parameters.ts';
import { HEADERS, sharedResponses } from './responses.ts';
import { ERROR_SCHEMA, resourceSchemas, withDefaultsInWords } from './schemas.ts';

const RECEIVERS = joined(
  Object.values(BRANDS).map(({ title }) => title),
  'and',
);

const DESCRIPTION = `Tsigil keeps the TSIG keys of an organisation in one place, and delivers them: a key that you create for a pool or a zone works on its name servers within about a second, and a key that you delete is refused there just as soon. ${RECEIVERS} can receive keys.

Besides keys, Tsigil stores the name servers, the pools that they form, the zones that they serve, and the top-level domains under which zones can be created.

Bodies are JSON in UTF-8. Responses have the type \`application/json; charset=UTF-8\`. \`Accept\` selects another type only where an operation lists it. Every path with \`GET\` also supports \`HEAD\`. Every path supports \`OPTIONS\`, whose response lists the methods. Slashes at the end of a path are ignored.

The header \`X-Auth-Token\` has the token of the caller. Without it, the service reads a bearer token (RFC 6750).

Responses have the header \`${REQUEST_ID_HEADER}\` with an id that the service also logs. A request may bring an id of its own in it, \`req-\` and a UUID, which is logged next to that.

A path that does not exist returns 404 with the type \`not_found\`. The response for each status of an error lists all types of errors with this status; an operation lists those of its own.

A caller sees only the zones of its project, unless the request covers all projects.

The service checks rights before it reads a body or looks for a resource. A caller who lacks the right therefore cannot find out whether a resource exists. With the setting \`auth.insufficientRightsStatus: 403\`, such a request gets 403 with the type \`forbidden\` instead of 401 with the type \`access_denied\`.`;

export interface DescribedService {
  readonly version: string;
  /** The URL of the guides' folder. */
  readonly guides: string;
  readonly actions: readonly Action[];
}

/** Returns the same for every host and all settings. */
export function describeApi({
  version,
  guides,
  actions,
}: DescribedService): Omit<ApiDocument, 'servers'> {
  const groups = new Set(actions.flatMap(({ group }) => group ?? []));
  const types = new Set([...DOCUMENTED_TYPES, ...actions.map(({ type }) => type)]);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tsigil',
      version,
      description: DESCRIPTION,
      contact: { name: 'The operator of this service' },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'The guides', url: guides },
    tags: [
      ...DOCUMENTED_TYPES.map(({ collection: name, description }) => ({ name, description })),
      ...groups,
      OPEN_TAG,
    ],
    paths: { ...apiPaths(DOCUMENTED_TYPES, actions), ...openPaths() },
    components: {
      schemas: Object.fromEntries([
        ...DOCUMENTED_TYPES.flatMap(resourceSchemas),
        ...actions.flatMap(actionSchemas),
        ['Error', ERROR_SCHEMA],
      ]),
      parameters: SHARED_PARAMETERS,
      headers: HEADERS,
      responses: sharedResponses([...types]),
      securitySchemes: {
        token: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}

function actionSchemas(action: Action): [string, JsonSchema][] {
  const { body } = action;
  return [
    ...(body === undefined ? [] : [[body.schemaName, withDefaultsInWords(body.kind.schema)]]),
    ...('response' in action ? [[action.response.schemaName, action.response.kind.schema]] : []),
  ] as [string, JsonSchema][];
}
