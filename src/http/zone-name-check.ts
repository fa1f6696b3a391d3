import type { FastifyInstance } from 'fastify';
import type { Environment } from '../domain/collection.ts';
import { checkZoneNames } from '../domain/zone-name-check.ts';
import { JSON_TYPE } from './errors.ts';
import { readJsonBody } from './json-body.ts';
import { addRoutes } from './routes.ts';

/** Serves the check of zone names against the TLD entries, for whoever may create zones. */
export function addZoneNameCheck(app: FastifyInstance, { store, settings }: Environment): void {
  addRoutes(app, '/v2/tlds/check', [
    {
      method: 'POST',
      right: 'zones:create',
      async handler(request, reply) {
        const checks = await checkZoneNames(store, settings, readJsonBody(request));
        return reply.header('content-type', JSON_TYPE).send(JSON.stringify({ checks }));
      },
    },
  ]);
}
