import type { ErrorCode } from '../../domain/model/errors.ts';
import { anyText, enumeration } from '../../domain/model/field.ts';
import { described, list, responseObject } from '../../domain/model/object.ts';
import type { Content, Paths } from './document.ts';
import { ERRORS_ANYWHERE, errorResponses, headers, json } from './responses.ts';

export const OPEN_TAG = {
  name: 'service',
  title: 'Service',
  description:
    'The versions, health, metrics and API description of the service. These paths need no API token.',
};

const VERSION = responseObject({
  id: described(anyText(), 'The version.'),
  status: described(
    enumeration(['SUPPORTED', 'CURRENT']),
    '`CURRENT` for the newest version, `SUPPORTED` for other versions.',
  ),
  updated: described(anyText(), 'The time of the last change.'),
  links: described(
    list(responseObject({ rel: enumeration(['self', 'help']), href: anyText() })),
    'The links to the API and its description.',
  ),
});

const LIMITED: readonly ErrorCode[] = ['too_many_requests'];

const TEXT: Content = { 'text/plain': { schema: { type: 'string' } } };

interface OpenPath {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly content: Content;
  /** The default is a limit on requests. */
  readonly errors?: readonly ErrorCode[];
}

const OPEN_PATHS: Readonly<Record<string, OpenPath>> = {
  '/': {
    operationId: 'get_versions',
    summary: 'List versions',
    description: 'Returns the versions of the API, for clients that discover the API.',
    content: json(
      responseObject({ versions: described(list(VERSION), 'The versions of the API.') }).schema,
    ),
  },
  '/v2': {
    operationId: 'get_version',
    summary: 'Show the version',
    description: 'Returns the current version of the API, which the links of `/` lead to.',
    content: json(responseObject({ version: VERSION }).schema),
  },
  '/healthcheck': {
    operationId: 'get_health',
    summary: 'Check liveness',
    description: 'Returns 200 while the process runs.',
    content: TEXT,
    errors: [],
  },
  '/readyz': {
    operationId: 'get_readiness',
    summary: 'Check readiness',
    description: 'Returns 200 if the database responds.',
    content: TEXT,
    errors: ['unavailable'],
  },
  '/metrics': {
    operationId: 'get_metrics',
    summary: 'Get metrics',
    description:
      'Returns the metrics of requests, errors, durations, commits, resources and the process, in the text format of Prometheus. If the setting `metrics.token` is set, the request needs that token.',
    content: TEXT,
    errors: [...LIMITED, 'unauthenticated', 'address_denied'],
  },
  '/openapi.json': {
    operationId: 'get_description',
    summary: 'Get the API description',
    description: 'Returns this document, in OpenAPI 3.1.',
    content: json({ type: 'object' }),
  },
  '/docs': {
    operationId: 'get_documentation',
    summary: 'Get a page of links',
    description:
      'Returns an HTML page that links to this document, to the web console and to the guides.',
    content: { 'text/html': { schema: { type: 'string' } } },
  },
};

export function openPaths(): Paths {
  return Object.fromEntries(
    Object.entries(OPEN_PATHS).map(([path, { content, errors = LIMITED, ...described }]) => {
      const get = {
        ...described,
        tags: [OPEN_TAG.name],
        security: [],
        responses: {
          200: { description: 'Success.', headers: headers(), content },
          ...errorResponses([...ERRORS_ANYWHERE, ...errors]),
        },
      };
      return [path, { get }];
    }),
  );
}
