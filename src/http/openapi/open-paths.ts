import type { ErrorCode } from '../../domain/model/errors.ts';
import type { JsonSchema } from '../../domain/model/field.ts';
import type { ResourceType } from '../../domain/model/resource.ts';
import type { Content, OperationObject, Paths } from './document.ts';
import { ERRORS_ANYWHERE, errorResponses, headers, json, type ApiSettings } from './responses.ts';
import { versionDocument } from '../request/version-document.ts';

/** The tag of the paths that need no token. */
export const OPEN_TAG = {
  name: 'service',
  description:
    'The service itself: its versions, health, figures and description. No token is needed.',
};

const VERSIONS: JsonSchema = {
  type: 'object',
  required: ['versions'],
  properties: {
    versions: {
      type: 'array',
      description: 'The versions of the API.',
      items: {
        type: 'object',
        required: ['id', 'status', 'updated', 'links'],
        properties: {
          id: { type: 'string', description: 'The version.' },
          status: {
            type: 'string',
            enum: ['SUPPORTED', 'CURRENT'],
            description: 'Whether it is the newest.',
          },
          updated: { type: 'string', format: 'date-time', description: 'When it last changed.' },
          links: {
            type: 'array',
            description: 'Where it is, and where it is described.',
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
      },
    },
  },
};

/** The error of a path whose requests without a token are counted. */
const LIMITED: ErrorCode[] = ['too_many_requests'];

/** The paths that need no token. The examples of their errors are about `type`. */
export function openPaths(settings: ApiSettings, type: ResourceType): Paths {
  const open = (
    id: string,
    summary: string,
    description: string,
    answer: string,
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
        200: { description: answer, headers: headers(settings), content },
        ...errorResponses(settings, type, [...ERRORS_ANYWHERE, ...errors]),
      },
    };
    return { get };
  };
  const versions = json(VERSIONS, {
    versions: { summary: 'Where the API is.', value: versionDocument(settings.base) },
  });
  return {
    '/': open(
      'get_versions',
      'List versions',
      'The versions of the API, for clients that look for one.',
      'The versions.',
      versions,
      LIMITED,
    ),
    '/healthcheck': open(
      'get_health',
      'Check that it is alive',
      'Answers while the process runs.',
      'It is alive.',
      text('OK'),
    ),
    '/readyz': open(
      'get_readiness',
      'Check that it is ready',
      'Answers with 200 when the database does.',
      'It is ready.',
      text('OK'),
      ['unavailable'],
    ),
    '/metrics': open(
      'get_metrics',
      'Read figures',
      "Requests, errors, durations, commits, resources and the process's own figures, in the text format of Prometheus.",
      'The figures.',
      text('tsigil_database_up 1\n', 'A line of it.'),
      LIMITED,
    ),
    '/openapi.json': open(
      'get_description',
      'Read this description',
      'This document, in OpenAPI 3.1.',
      'The document.',
      json({ type: 'object' }, {}),
      LIMITED,
    ),
    '/docs': open(
      'get_documentation',
      'Read this description as a page',
      'This document, as one HTML page.',
      'The page.',
      {
        'text/html': { schema: { type: 'string' } },
      },
      LIMITED,
    ),
  };
}

function text(value: string, summary = 'All of it.'): Content {
  return { 'text/plain': { schema: { type: 'string' }, examples: { text: { summary, value } } } };
}
