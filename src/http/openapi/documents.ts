import type { FastifyInstance } from 'fastify';
import { ACTIONS } from '../../domain/actions/actions.ts';
import { DOCUMENTED_TYPES } from '../../domain/resources/resources.ts';
import { JSON_TYPE } from '../request/errors.ts';
import { describeApi } from './openapi.ts';
import type { ApiDocument } from './document.ts';
import { actionGroups, actionPaths, actionSchemas } from './actions.ts';
import { openPaths } from './open-paths.ts';
import type { ApiSettings } from './responses.ts';
import { addRoutes } from '../request/routes.ts';

/**
 * The placeholder for the base URL in a template. No host has a name in `.invalid` (RFC 6761
 * section 6.4).
 */
const PLACEHOLDER = 'https://base-url.invalid';

const PAGE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves the API description at `/openapi.json`, and a page that links to it at `/docs`, both
 * without a token. Renders the description once, at its first request. `publicUrl` is the configured
 * base URL. Without one, the description shows the request's base URL.
 */
export function addDocuments(
  app: FastifyInstance,
  service: Omit<ApiSettings, 'base'>,
  publicUrl: string | undefined,
  hasConsole: boolean,
): void {
  const base = publicUrl ?? PLACEHOLDER;
  const json = renderOnce(() => JSON.stringify(describeService({ ...service, base })));
  const page = pageOf(service.guides, hasConsole);
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
      async handler(_, reply) {
        reply
          .header('content-type', 'text/html; charset=UTF-8')
          .header('content-security-policy', PAGE_POLICY);
        return reply.send(page);
      },
    },
  ]);
}

/** Returns the page at `/docs`. Its links to this service are relative, so it is the same for every host. */
function pageOf(guides: string, hasConsole: boolean): string {
  const links = [
    ['openapi.json', 'The API in OpenAPI 3.1'],
    ...(hasConsole ? [['console/', 'The web console']] : []),
    [guides, 'The guides'],
  ];
  const items = links.map(([target, text]) => `<li><a href="${target}">${text}</a></li>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tsigil</title>
<h1>Tsigil</h1>
<p>DNS management service for TSIG keys and top-level domains.</p>
<ul>
${items.join('\n')}
</ul>
</html>
`;
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
 * request's base URL needs no escaping in JSON: `baseUrl` accepts only letters, digits and
 * `. : - _ [ ]` in hosts.
 */
function renderOnce(render: () => string): (base: string) => string {
  let parts: readonly string[] | undefined;
  return (base) => {
    parts ??= render().split(PLACEHOLDER);
    return parts.join(base);
  };
}
