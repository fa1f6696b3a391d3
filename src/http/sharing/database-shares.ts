import type { FastifyInstance } from 'fastify';
import { createFairQueue } from '../../domain/scheduling/fair-queue.ts';

/** One caller's part of the connections. */
const SHARE = 3 / 4;

declare module 'fastify' {
  interface FastifyRequest {
    /** Lets the next request use the database; undefined for a request that holds no connection. */
    releaseConnection: (() => void) | undefined;
  }
}

/**
 * Shares the connections to a database among callers: as many requests run at once as there are connections, and those of one caller
 * use at most three quarters. Further requests wait, and callers are served in turn. A request that waits to scan many rows calls
 * `releaseConnection`, as scans have connections of their own. Add it after all that waits for the body of a request.
 */
export function addDatabaseShares(app: FastifyInstance, connections: number): void {
  const queue = createFairQueue({
    concurrency: connections,
    concurrencyPerOwner: Math.max(1, Math.floor(connections * SHARE)),
    // A connection from a caller has at most one request that waits, so the limits of those connections are the bound.
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
