import type { FastifyInstance } from 'fastify';
import { addRoutes } from './routes.ts';

/** Serves the description of the API, which needs no token. */
export function addDocuments(app: FastifyInstance): void {
  addRoutes(app, '/openapi.json', [{ method: 'GET', handler: async (_request, reply) => reply.send('{}') }]);
}
