import type { FastifyInstance } from 'fastify';
import { RESOURCE_TYPES } from '../domain/resources.ts';
import { CONTENT_SECURITY_POLICY, renderDocsPage } from './docs-page.ts';
import { JSON_TYPE } from './errors.ts';
import { describeApi } from './openapi.ts';
import { keyExportPath } from './openapi-key-export.ts';
import { openPaths } from './openapi-open-paths.ts';
import { restorePaths } from './openapi-restore.ts';
import { TLD_BULK_SCHEMAS, tldBulkPath } from './openapi-tld-bulk.ts';
import { ZONE_NAME_CHECK_SCHEMAS, zoneNameCheckPath } from './openapi-zone-name-check.ts';
import type { ApiSettings } from './openapi-responses.ts';
import { addRoutes } from './routes.ts';

/** Serves the description of the API, which needs no token: for programs at `/openapi.json`, for people at `/docs`. */
export function addDocuments(app: FastifyInstance, service: Omit<ApiSettings, 'base'>): void {
  const describe = keepLatest((base) => {
    const settings = { ...service, base };
    const paths = {
      ...keyExportPath(settings),
      ...restorePaths(settings),
      ...tldBulkPath(settings),
      ...zoneNameCheckPath(settings),
      ...openPaths(settings, RESOURCE_TYPES[0]),
    };
    return describeApi(settings, RESOURCE_TYPES, { paths, schemas: { ...TLD_BULK_SCHEMAS, ...ZONE_NAME_CHECK_SCHEMAS } });
  });
  const write = keepLatest((base) => JSON.stringify(describe(base)));
  const render = keepLatest((base) => renderDocsPage(describe(base)));
  addRoutes(app, '/openapi.json', [{ method: 'GET', handler: async ({ base }, reply) => reply.header('content-type', JSON_TYPE).send(write(base)) }]);
  addRoutes(app, '/docs', [
    {
      method: 'GET',
      async handler({ base }, reply) {
        reply.header('content-type', 'text/html; charset=UTF-8').header('content-security-policy', CONTENT_SECURITY_POLICY);
        return reply.send(render(base));
      },
    },
  ]);
}

/** `work`, which is done again only when its argument changes: a service has one base URL, or few. */
function keepLatest<T>(work: (base: string) => T): (base: string) => T {
  let latest: { base: string; result: T } | undefined;
  return (base) => {
    if (latest?.base !== base) latest = { base, result: work(base) };
    return latest.result;
  };
}
