import type { FastifyInstance } from 'fastify';
import type { Dependencies } from '../domain/operations/change.ts';
import { checkZoneNames } from '../domain/operations/zone-name-check.ts';
import { JSON_TYPE } from './request/errors.ts';
import { readLongJsonBody } from './request/json-body.ts';
import type { RunLongWork } from './sharing/long-work.ts';
import { addRoutes } from './request/routes.ts';

/** Serves the check of zone names against the TLD entries, for whoever may create zones. */
export function addZoneNameCheck(app: FastifyInstance, { store, settings }: Dependencies, runLongWork: RunLongWork): void {
  addRoutes(app, '/v2/tlds/check', [
    {
      method: 'POST',
      right: 'zones:create',
      async handler(request, reply) {
        const checks = await runLongWork(request, async (slicer) => checkZoneNames(store, settings, await readLongJsonBody(request, slicer), slicer));
        return reply.header('content-type', JSON_TYPE).send(JSON.stringify({ checks }));
      },
    },
  ]);
}
