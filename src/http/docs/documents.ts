import type { FastifyInstance } from 'fastify';
import { ACTIONS } from '../../domain/actions/actions.ts';
import { DOCUMENTED_TYPES } from '../../domain/resources/resources.ts';
import { CONTENT_SECURITY_POLICY, renderDocsPage } from './page.ts';
import { JSON_TYPE } from '../request/errors.ts';
import { describeApi } from '../openapi/openapi.ts';
import type { ApiDocument } from '../openapi/document.ts';
import { actionGroups, actionPaths, actionSchemas } from '../openapi/actions.ts';
import { openPaths } from '../openapi/open-paths.ts';
import type { ApiSettings } from '../openapi/responses.ts';
import { addRoutes } from '../request/routes.ts';

/**
 * The placeholder for the base URL in a template. No host has a name in `.invalid` (RFC 6761
 * section 6.4).
 */
const PLACEHOLDER = 'https://base-url.invalid';

/**
 * Serves the API description without a token: for programs at `/openapi.json`, for people at
 * `/docs`. Renders each document once, at its first request. `publicUrl` is the configured base
 * URL. Without one, the description shows the request's base URL.
 */
export function addDocuments(
  app: FastifyInstance,
  service: Omit<ApiSettings, 'base'>,
  publicUrl: string | undefined,
): void {
  const base = publicUrl ?? PLACEHOLDER;
  const json = renderOnce(() => JSON.stringify(describeService({ ...service, base })));
  const page = renderOnce(() => renderDocsPage(describeService({ ...service, base })));
  addRoutes(app, '/openapi.json', [
    {
      method: 'GET',
      handler: async (request, reply) =>
        reply.header('content-type', JSON_TYPE).send(json(request.base)),
    },
  ]);
  addRoutes(app, '/docs', [
    {
      method: 'GET',
      async handler(request, reply) {
        reply
          .header('content-type', 'text/html; charset=UTF-8')
          .header('content-security-policy', CONTENT_SECURITY_POLICY);
        return reply.send(page(request.base));
      },
    },
  ]);
}

function describeService(settings: ApiSettings): ApiDocument {
  const paths = { ...actionPaths(settings, ACTIONS), ...openPaths(settings, DOCUMENTED_TYPES[0]) };
  return describeApi(settings, DOCUMENTED_TYPES, {
    paths,
    schemas: actionSchemas(ACTIONS),
    groups: actionGroups(ACTIONS),
  });
}

/**
 * Returns a function that inserts a base URL into the text of `render`. Calls `render` once. A
 * request's base URL needs no escaping in JSON or HTML: `baseUrl` accepts only letters, digits and
 * `. : - _ [ ]` in hosts.
 */
function renderOnce(render: () => string): (base: string) => string {
  let parts: readonly string[] | undefined;
  return (base) => {
    parts ??= render().split(PLACEHOLDER);
    return parts.join(base);
  };
}
