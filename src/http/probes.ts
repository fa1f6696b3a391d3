import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from './errors.ts';
import { addRoutes } from './routes.ts';

/** When the API last changed for its callers. */
const API_UPDATED = '2022-06-29T00:00:00Z';

/** Serves what needs no token: the version document, and whether the service is alive and ready, which `ping` says by resolving. */
export function addProbes(app: FastifyInstance, ping: () => Promise<void>): void {
  addRoutes(app, '/', [
    {
      method: 'GET',
      handler: async (request, reply) => reply.header('content-type', JSON_TYPE).send(JSON.stringify(versionDocument(request.base))),
    },
  ]);
  addRoutes(app, '/healthcheck', [
    { method: 'GET', unlimited: true, handler: async (_request, reply) => reply.type('text/plain; charset=UTF-8').send('OK') },
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

/** Two names for one API: clients look for `v2`, and read from the current one's minor number which extensions to expect. */
export function versionDocument(base: string): object {
  const links = [
    { rel: 'self', href: `${base}/v2` },
    { rel: 'help', href: `${base}/docs` },
  ];
  return {
    versions: [
      { id: 'v2', status: 'SUPPORTED', updated: API_UPDATED, links },
      { id: 'v2.0', status: 'CURRENT', updated: API_UPDATED, links },
    ],
  };
}
