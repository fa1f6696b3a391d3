import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from './request/errors.ts';
import { addRoutes } from './request/routes.ts';
import { versionDocument } from './request/version-document.ts';

/**
 * Serves the version document and the liveness and readiness probes without a token. The service is
 * ready if `ping` resolves.
 */
export function addProbes(app: FastifyInstance, ping: () => Promise<void>): void {
  addRoutes(app, '/', [
    {
      method: 'GET',
      handler: async (request, reply) =>
        reply.header('content-type', JSON_TYPE).send(JSON.stringify(versionDocument(request.base))),
    },
  ]);
  addRoutes(app, '/healthcheck', [
    {
      method: 'GET',
      unlimited: true,
      handler: async (_request, reply) => reply.type('text/plain; charset=UTF-8').send('OK'),
    },
  ]);
  addRoutes(app, '/readyz', [
    {
      method: 'GET',
      unlimited: true,
      async handler(_request, reply) {
        await ping();
        return reply.type('text/plain; charset=UTF-8').send('OK');
      },
    },
  ]);
}
