import type { FastifyInstance } from 'fastify';
import { createFairQueue } from '../../domain/scheduling/fair-queue.ts';

const SHARE = 3 / 4;

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Releases the request's connection to the next request. Undefined for a request without a
     * connection.
     */
    releaseConnection: (() => void) | undefined;
  }
}

/**
 * Shares the connections to a database among callers. At most `connections` requests run at once,
 * and one caller uses at most three quarters of the connections. Further requests wait, and callers
 * are served in rotation. A request that waits to scan many rows calls `releaseConnection`, because
 * scans have separate connections. Call `addDatabaseShares` after adding every hook that waits for
 * the body of a request.
 */
export function addDatabaseShares(app: FastifyInstance, connections: number): void {
  const queue = createFairQueue({
    concurrency: connections,
    concurrencyPerOwner: Math.max(1, Math.floor(connections * SHARE)),
    // A client connection has at most one waiting request. The limits on connections therefore also
    // bound the number of waiting requests.
    maxWaiting: Infinity,
    maxWaitingPerOwner: Infinity,
  });
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.caller === undefined) {
      done();
      return;
    }
    const hold = () =>
      new Promise<void>((release) => {
        request.releaseConnection = release;
        done();
      });
    queue.run(request.caller.id, hold).catch(done);
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    request.releaseConnection?.();
    done();
  });
}
