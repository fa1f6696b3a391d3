import type { FastifyInstance } from 'fastify';
import type { Environment } from '../domain/collection.ts';
import { restoreRight, RESTORABLE_TYPES } from '../domain/resources.ts';
import { restoreResources } from '../domain/restore.ts';
import { JSON_TYPE } from './errors.ts';
import { signedIn } from './gate.ts';
import { readLongJsonBody } from './json-body.ts';
import type { RunLongWork } from './long-work.ts';
import { addRoutes } from './routes.ts';

/** Serves, for each collection that may be copied from another service, the creation of resources with their ids and timestamps. */
export function addRestore(app: FastifyInstance, environment: Environment, runLongWork: RunLongWork): void {
  for (const type of RESTORABLE_TYPES) {
    addRoutes(app, `/v2/${type.collection}/restore`, [
      {
        method: 'POST',
        right: restoreRight(type),
        async handler(request, reply) {
          const result = await runLongWork(request, async (slicer) => {
            const body = await readLongJsonBody(request, slicer);
            return restoreResources(environment, type, signedIn(request), body, slicer);
          });
          return reply.header('content-type', JSON_TYPE).send(JSON.stringify(result));
        },
      },
    ]);
  }
}
