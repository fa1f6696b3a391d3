import type { ErrorCode } from '../../domain/model/errors.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { Content, OperationObject, Paths } from './document.ts';
import { ERRORS_ANYWHERE, errorResponses, headers, json, type ApiSettings } from './responses.ts';

export const OPEN_TAG = {
  name: 'service',
  title: 'Service',
  description:
    'The versions, health, metrics and API description of the service. These paths need no API token.',
};

/** The time of the last API change that affects callers. */
const API_UPDATED = '2022-06-29T00:00:00Z';

/**
 * Returns the version document, which lists one API under two ids. Clients look for `v2`, and infer
 * the available extensions from the minor number of the current version.
 */
export function versionDocument(base: string): object {
  const current = currentVersion(base);
  return { versions: [{ ...current, id: 'v2', status: 'SUPPORTED' }, current] };
}

/** Returns the document of one version, which clients of OpenStack expect at its own URL. */
export function currentVersionDocument(base: string): object {
  return { version: currentVersion(base) };
}

function currentVersion(base: string) {
  const links = [
    { rel: 'self', href: `${base}/v2` },
    { rel: 'help', href: `${base}/docs` },
  ];
  return { id: 'v2.0', status: 'CURRENT', updated: API_UPDATED, links };
}

const VERSION: JsonSchema = {
  type: 'object',
  required: ['id', 'status', 'updated', 'links'],
  properties: {
    id: { type: 'string', description: 'The version.' },
    status: {
      type: 'string',
      enum: ['SUPPORTED', 'CURRENT'],
      description: '`CURRENT` for the newest version, `SUPPORTED` for other versions.',
    },
    updated: {
      type: 'string',
      format: 'date-time',
      description: 'The time of the last change.',
    },
    links: {
      type: 'array',
      description: 'The links to the API and its description.',
      items: {
        type: 'object',
        required: ['rel', 'href'],
        properties: {
          rel: { enum: ['self', 'help'] },
          href: { type: 'string', format: 'uri' },
        },
      },
    },
  },
};

const VERSIONS: JsonSchema = {
  type: 'object',
  required: ['versions'],
  properties: {
    versions: { type: 'array', description: 'The versions of the API.', items: VERSION },
  },
};

const ONE_VERSION: JsonSchema = {
  type: 'object',
  required: ['version'],
  properties: { version: VERSION },
};

const LIMITED: ErrorCode[] = ['too_many_requests'];

/** Returns the paths that need no token. The examples of their errors refer to `type`. */
export function openPaths(settings: ApiSettings, type: ResourceType): Paths {
  const open = (
    id: string,
    summary: string,
    description: string,
    response: string,
    content: Content,
    errors: ErrorCode[] = [],
  ) => {
    const get: OperationObject = {
      operationId: id,
      summary,
      description,
      tags: [OPEN_TAG.name],
      security: [],
      responses: {
        200: { description: response, headers: headers(), content },
        ...errorResponses(settings, type, [...ERRORS_ANYWHERE, ...errors]),
      },
    };
    return { get };
  };
  const versions = json(VERSIONS, {
    versions: { summary: 'The URL of the API.', value: versionDocument(settings.base) },
  });
  const version = json(ONE_VERSION, {
    version: { summary: 'The version.', value: currentVersionDocument(settings.base) },
  });
  return {
    '/': open(
      'get_versions',
      'List versions',
      'Returns the versions of the API, for clients that discover the API.',
      'The versions.',
      versions,
      LIMITED,
    ),
    '/v2': open(
      'get_version',
      'Show the version',
      'Returns the current version of the API, which the links of `/` lead to.',
      'The version.',
      version,
      LIMITED,
    ),
    '/healthcheck': open(
      'get_health',
      'Check liveness',
      'Returns 200 while the process runs.',
      'The process is running.',
      text('OK'),
    ),
    '/readyz': open(
      'get_readiness',
      'Check readiness',
      'Returns 200 if the database responds.',
      'The service is ready.',
      text('OK'),
      ['unavailable'],
    ),
    '/metrics': open(
      'get_metrics',
      'Get metrics',
      'Returns the metrics of requests, errors, durations, commits, resources and the process, in the text format of Prometheus. If the setting `metrics.token` is set, the request needs that token.',
      'The metrics.',
      text('tsigil_database_up 1\n', 'One line of the metrics.'),
      [...LIMITED, 'unauthenticated', 'address_denied'],
    ),
    '/openapi.json': open(
      'get_description',
      'Get the API description',
      'Returns this document, in OpenAPI 3.1.',
      'The document.',
      json({ type: 'object' }, {}),
      LIMITED,
    ),
    '/docs': open(
      'get_documentation',
      'Get a page of links',
      'Returns an HTML page that links to this document, to the web console and to the guides.',
      'The page.',
      {
        'text/html': { schema: { type: 'string' } },
      },
      LIMITED,
    ),
  };
}

function text(value: string, summary = 'The whole text.'): Content {
  return { 'text/plain': { schema: { type: 'string' }, examples: { text: { summary, value } } } };
}
