import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hashToken, isSameHash } from '../core/token-hash.ts';
import { ServiceError } from '../core/errors.ts';
import type { Store } from '../core/ports.ts';
import { RESOURCE_TYPES } from '../resources/resources.ts';
import { singleFlight } from '../core/scheduling/single-flight.ts';
import { networksOf } from '../core/text/networks.ts';
import { isStatedAddress } from './connection/client-address.ts';
import { addDatabaseGauges, inTime, MAX_AGE_SECONDS, type Metrics } from './metrics/metrics.ts';
import { prefersHtml } from './request/accept.ts';
import { JSON_TYPE } from './request/errors.ts';
import { tokenOf } from './request/guard.ts';
import { addRoutes } from './request/routes.ts';

export interface MetricsAccess {
  /** The token that requests must have. Undefined if requests need no token. */
  readonly token: string | undefined;
  /** Addresses and networks of allowed callers, such as `10.0.0.0/8`. Empty to allow all. */
  readonly addresses: readonly string[];
  /** Whether to read the caller's address from `X-Forwarded-For`. */
  readonly trustProxyHeaders: boolean;
}

/** The check throws `address_denied`, and `unauthenticated` if the token is missing or wrong. */
export function createMetricsCheck(access: MetricsAccess): (request: FastifyRequest) => void {
  const { token, addresses, trustProxyHeaders } = access;
  const allowed = networksOf(addresses);
  const expected = token === undefined ? undefined : hashToken(token);
  return (request) => {
    const isAllowed = () =>
      isStatedAddress(request, trustProxyHeaders) && allowed.includes(request.address);
    if (addresses.length > 0 && !isAllowed()) throw new ServiceError('address_denied');
    if (expected !== undefined && !isSameHash(hashToken(tokenOf(request) ?? ''), expected))
      throw new ServiceError('unauthenticated');
  };
}

interface MetricsSources {
  readonly store: Store;
  readonly ping: () => Promise<void>;
}

/** Concurrent scrapes of `/metrics` share one run and return the same text. */
export function addMetrics(
  app: FastifyInstance,
  metrics: Metrics,
  { store, ping }: MetricsSources,
): void {
  const { registry } = metrics;
  metrics.live('tsigil_database_up', async () =>
    (await inTime(ping().then(() => true))) === true ? 1 : 0,
  );
  const countAll = async () => {
    const counts: [labels: { collection: string }, count: number][] = [];
    for (const type of RESOURCE_TYPES)
      counts.push([{ collection: type.collection }, await store.count(type, [])]);
    return counts;
  };
  addDatabaseGauges(metrics, countAll, [
    {
      name: 'tsigil_resources',
      help: `Resources by collection. The numbers are at most ${MAX_AGE_SECONDS} seconds old.`,
      labelNames: ['collection'],
      valueOf: (counts) => counts,
    },
  ]);
  const read = singleFlight(() => registry.metrics());
  addRoutes(app, '/metrics', [
    {
      method: 'GET',
      async handler(request, reply) {
        request.settings.checkMetrics(request);
        return reply.header('content-type', registry.contentType).send(await read());
      },
    },
  ]);
}

/** The time of the last API change that affects callers. */
const API_UPDATED = '2022-06-29T00:00:00Z';

function currentVersion(base: string) {
  const links = [
    { rel: 'self', href: `${base}/v2` },
    { rel: 'help', href: `${base}/docs` },
  ];
  return { id: 'v2.0', status: 'CURRENT', updated: API_UPDATED, links };
}

/**
 * Returns the version document, which lists one API under two ids. Clients look for `v2`, and infer
 * the available extensions from the minor number of the current version.
 */
function versionDocument(base: string): object {
  const current = currentVersion(base);
  return { versions: [{ ...current, id: 'v2', status: 'SUPPORTED' }, current] };
}

/**
 * Serves the version documents, at `/` instead of which a browser gets the console if there is one, and the
 * liveness and readiness probes without a token. The service is ready if `ping` resolves.
 */
export function addProbes(
  app: FastifyInstance,
  ping: () => Promise<void>,
  hasConsole: boolean,
): void {
  addRoutes(app, '/', [
    {
      method: 'GET',
      async handler(request, reply) {
        if (hasConsole && prefersHtml(request)) return reply.redirect(`${request.base}/console/`);
        return reply
          .header('content-type', JSON_TYPE)
          .send(JSON.stringify(versionDocument(request.base)));
      },
    },
  ]);
  addRoutes(app, '/v2', [
    {
      method: 'GET',
      handler: async (request, reply) =>
        reply
          .header('content-type', JSON_TYPE)
          .send(JSON.stringify({ version: currentVersion(request.base) })),
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
