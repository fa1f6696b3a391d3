import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from '../request/errors.ts';
import { addRoutes } from '../request/routes.ts';
import { describeApi, type DescribedService } from './openapi.ts';

const PAGE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves the API description at `/openapi.json`, and a page that links to it at `/docs`, both
 * without a token. Writes the description once, at its first request.
 */
export function addDocuments(
  app: FastifyInstance,
  service: DescribedService,
  hasConsole: boolean,
): void {
  const page = pageOf(service.guides, hasConsole);
  let text: string | undefined;
  addRoutes(app, '/openapi.json', [
    {
      method: 'GET',
      async handler(request, reply) {
        text ??= JSON.stringify(describeApi(service));
        const servers = JSON.stringify([{ url: request.base }]);
        return reply
          .header('content-type', JSON_TYPE)
          .send(`${text.slice(0, -1)},"servers":${servers}}`);
      },
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
  const consoleItem = hasConsole ? '\n<li><a href="console/">The web console</a></li>' : '';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tsigil</title>
<h1>Tsigil</h1>
<p>DNS management service for TSIG keys and top-level domains.</p>
<ul>
<li><a href="openapi.json">The API in OpenAPI 3.1</a></li>${consoleItem}
<li><a href="${guides}">The guides</a></li>
</ul>
</html>
`;
}
