import type { EventEmitter } from 'node:events';
import type {
  FastifyInstance,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
} from 'fastify';
import { ServiceError } from '../../domain/model/errors.ts';
import { createFairQueue } from '../../domain/scheduling/fair-queue.ts';
import { forRoutesWithBodies } from './routes.ts';

/** How much memory request bodies may take. */
export interface BodyBudget {
  /** All large bodies together. */
  readonly maxBytesInFlight: number;
  /** The largest body that any route accepts: the budget and each caller's share have room for one. */
  readonly largestBody: number;
}

/** Bodies up to this size are read at once: the connections that carry them take as much memory. */
const SMALL_BYTES = 64 * 1024;

/** A caller's part of the budget. */
const SHARE = 1 / 4;

/** How many requests may wait. Each takes what its connection buffers, some 64 KiB. */
const MAX_WAITING = 256;
const MAX_WAITING_PER_CALLER = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** Gives back the bytes that the budget holds for the body; undefined for a small body. */
    releaseBody: (() => void) | undefined;
  }
}

/**
 * Bounds the bytes of request bodies in memory. A request with a large body waits, before the body is read, until its bytes fit
 * into the budget and into its caller's share; callers are served in turn. The bytes are held until the response is sent, or until the
 * handler is done where the caller has left. Too many waiting requests are refused with `unavailable`. Add it before the routes, which
 * run it after the guard.
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
      reply.header('connection', 'close'); // else the body would be received all the same
      done(error as Error);
    });
  };
  const onSend: onSendHookHandler = (request, reply, _payload, done) => {
    const { releaseBody } = request;
    if (releaseBody !== undefined) {
      // A response to a caller who has left may never close.
      if (request.raw.socket.destroyed) releaseBody();
      else onceClosed(releaseBody, reply.raw, request.raw.socket);
    }
    done();
  };
  forRoutesWithBodies(app, (route) => Object.assign(route, { onRequest, onSend }));
}

/** A signal that aborts when the connection closes before the body has been read. */
function callerLeaves(request: FastifyRequest): AbortSignal {
  const { raw } = request;
  const left = new AbortController();
  const onClose = () => {
    if (raw.complete) return;
    left.abort(new ServiceError('unavailable', 'The caller left before the request body was read'));
    request.releaseBody?.();
  };
  raw.socket.once('close', onClose);
  raw.once('end', () => raw.socket.removeListener('close', onClose));
  return left.signal;
}

/** Calls `then` when the first of `emitters` closes: the response to a pipelined request does not report that its connection has. */
function onceClosed(then: () => void, ...emitters: readonly EventEmitter[]): void {
  const onClose = () => {
    for (const emitter of emitters) emitter.removeListener('close', onClose);
    then();
  };
  for (const emitter of emitters) emitter.once('close', onClose);
}

/** How many bytes of memory the body of a request may take: as many as its head says, or as its route accepts. */
function bodyBytes({ headers, route }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return route.bodyLimit;
  return Number(headers['content-length'] ?? 0);
}
