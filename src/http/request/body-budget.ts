import type { EventEmitter } from 'node:events';
import type {
  FastifyInstance,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
} from 'fastify';
import { asError, ServiceError } from '../../domain/model/errors.ts';
import { createFairQueue } from '../../domain/scheduling/fair-queue.ts';
import { forRoutesWithBodies } from './routes.ts';

/** The memory limits of request bodies. */
export interface BodyBudget {
  /** The limit for all large bodies together. */
  readonly maxBytesInFlight: number;
  /**
   * The maximum body size of any route. The budget and each caller's share are at least this large.
   */
  readonly largestBody: number;
}

/** Bodies up to this size do not wait, because their connections use as much memory anyway. */
const SMALL_BYTES = 64 * 1024;

const SHARE = 1 / 4;

/** The maximum number of waiting requests. Each uses the buffer of its connection, about 64 KiB. */
const MAX_WAITING = 256;
const MAX_WAITING_PER_CALLER = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the bytes reserved for the body. Undefined for a small body. */
    releaseBody: (() => void) | undefined;
  }
}

/**
 * Limits the bytes of request bodies in memory. A request with a large body waits until its bytes
 * fit into the budget and into its caller's share. The service reads the body only then. Callers
 * are served in rotation. The bytes stay reserved until the response is sent or, if the caller has
 * disconnected, until the handler finishes. At most 256 requests wait, and at most 64 of one
 * caller. Further requests fail with `unavailable`. Call `addBodyBudget` before the routes are
 * added, so that its hooks run after the request guard.
 */
export function addBodyBudget(
  app: FastifyInstance,
  { maxBytesInFlight, largestBody }: BodyBudget,
): void {
  const queue = createFairQueue({
    concurrency: Math.max(maxBytesInFlight, largestBody),
    concurrencyPerOwner: Math.max(Math.floor(maxBytesInFlight * SHARE), largestBody),
    maxWaiting: MAX_WAITING,
    maxWaitingPerOwner: MAX_WAITING_PER_CALLER,
  });
  app.decorateRequest('releaseBody', undefined);
  const onRequest: onRequestHookHandler = (request, reply, done) => {
    const bytes = bodyBytes(request);
    if (bytes <= SMALL_BYTES) {
      done();
      return;
    }
    const left = callerLeaves(request);
    const read = () =>
      new Promise<void>((release) => {
        request.releaseBody = release;
        done();
      });
    queue.run(request.caller?.id ?? request.ip, read, left, bytes).catch((error: unknown) => {
      reply.header('connection', 'close'); // otherwise the service would still receive the body
      done(asError(error));
    });
  };
  const onSend: onSendHookHandler = (request, reply, _payload, done) => {
    const { releaseBody } = request;
    if (releaseBody !== undefined) {
      // The response to a disconnected caller may never close.
      if (request.raw.socket.destroyed) releaseBody();
      else onceClosed(releaseBody, reply.raw, request.raw.socket);
    }
    done();
  };
  forRoutesWithBodies(app, (route) => Object.assign(route, { onRequest, onSend }));
}

/** Returns a signal that aborts if the connection closes before the body has been read. */
function callerLeaves(request: FastifyRequest): AbortSignal {
  const { raw } = request;
  const left = new AbortController();
  const onClose = () => {
    if (raw.complete) return;
    left.abort(
      new ServiceError('unavailable', 'The caller disconnected before the request body was read'),
    );
    request.releaseBody?.();
  };
  raw.socket.once('close', onClose);
  raw.once('end', () => raw.socket.removeListener('close', onClose));
  return left.signal;
}

/**
 * Calls `then` when the first of `emitters` closes. The response to a pipelined request does not
 * report that its connection has closed.
 */
function onceClosed(then: () => void, ...emitters: readonly EventEmitter[]): void {
  const onClose = () => {
    for (const emitter of emitters) emitter.removeListener('close', onClose);
    then();
  };
  for (const emitter of emitters) emitter.once('close', onClose);
}

/**
 * Returns the maximum size of a request's body in bytes. This is its Content-Length, or the limit
 * of the route if the length is unknown.
 */
function bodyBytes({ headers, route }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return route.bodyLimit;
  return Number(headers['content-length'] ?? 0);
}
