import type { ErrorCode } from '../../core/errors.ts';
import type { Paths } from './document.ts';
import { ERRORS_ANYWHERE, errorResponses, response } from './responses.ts';

export const OPEN_TAG = {
  name: 'service',
  description:
    'The versions, health, metrics and API description of the service. These paths need no API token.',
};

const JSON_OBJECT = { 'application/json': { schema: { type: 'object' } } };
const TEXT = { 'text/plain': { schema: { type: 'string' } } };
const HTML = { 'text/html': { schema: { type: 'string' } } };

const LIMITED: readonly ErrorCode[] = ['too_many_requests'];

const OPEN_PATHS = {
  '/': {
    operationId: 'get_versions',
    summary: 'Get the versions of the API, for clients that discover it',
    content: JSON_OBJECT,
    errors: LIMITED,
  },
  '/v2': {
    operationId: 'get_version',
    summary: 'Get the current version of the API',
    content: JSON_OBJECT,
    errors: LIMITED,
  },
  '/healthcheck': {
    operationId: 'get_health',
    summary: 'Get 200 while the process runs',
    content: TEXT,
    errors: [],
  },
  '/readyz': {
    operationId: 'get_readiness',
    summary: 'Get 200 if the database responds',
    content: TEXT,
    errors: ['unavailable'],
  },
  '/metrics': {
    operationId: 'get_metrics',
    summary: 'Get the metrics in the text format of Prometheus, with `metrics.token` if it is set',
    content: TEXT,
    errors: [...LIMITED, 'unauthenticated', 'address_denied'],
  },
  '/openapi.json': {
    operationId: 'get_description',
    summary: 'Get this document',
    content: JSON_OBJECT,
    errors: LIMITED,
  },
  '/docs': {
    operationId: 'get_documentation',
    summary: 'Get a page that links to this document, to the web console and to the guides',
    content: HTML,
    errors: LIMITED,
  },
} as const;

export function openPaths(): Paths {
  return Object.fromEntries(
    Object.entries(OPEN_PATHS).map(([path, { operationId, summary, content, errors }]) => {
      const get = {
        operationId,
        summary,
        description: `${summary}.`,
        tags: [OPEN_TAG.name],
        security: [],
        responses: {
          200: response('Success.', [], content),
          ...errorResponses([...ERRORS_ANYWHERE, ...errors]),
        },
      };
      return [path, { get }];
    }),
  );
}
