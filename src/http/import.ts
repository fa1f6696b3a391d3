import type { FastifyInstance } from 'fastify';
import type { Dependencies } from '../domain/operations/change.ts';
import { importRight, IMPORTABLE_TYPES } from '../domain/resources/resources.ts';
import { importResources } from '../domain/operations/import.ts';
import { JSON_TYPE } from './request/errors.ts';
import { changeContext } from './request/guard.ts';
import { readLongJsonBody } from './request/json-body.ts';
import type { RunLongWork } from './sharing/long-work.ts';
import { addRoutes } from './request/routes.ts';

/** Serves, for each collection that may be copied from another service, the creation of resources with their ids and timestamps. */
export function addImport(app: FastifyInstance, dependencies: Dependencies, runLongWork: RunLongWork): void {
  for (const type of IMPORTABLE_TYPES) {
    addRoutes(app, `/v2/${type.collection}/import`, [
      {
        method: 'POST',
        right: importRight(type),
        async handler(request, reply) {
          const result = await runLongWork(request, async (slicer) => {
            const body = await readLongJsonBody(request, slicer);
            return importResources(dependencies, type, changeContext(request), body, slicer);
          });
          return reply.header('content-type', JSON_TYPE).send(JSON.stringify(result));
        },
      },
    ]);
  }
}
