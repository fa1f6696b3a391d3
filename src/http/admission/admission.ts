import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asError, ServiceError } from '../../core/errors.ts';
import { busy, createFairQueue, type FairQueue } from '../../core/scheduling/fair-queue.ts';
import type { Slicer } from '../../core/scheduling/slicer.ts';
import { newSlicer } from '../../net/slices.ts';
import { isConnected } from '../connection/connections.ts';
import { isShed } from '../connection/pipelining.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { signedIn } from '../request/guard.ts';
import { forRoutesWithBodies } from '../request/routes.ts';
import { createFairTurns } from './fair-turns.ts';

export interface AdmissionLimits {
  readonly maxBodyBytesInFlight: number;
  /**
   * The maximum body size of any route. The bytes for bodies and each caller's share are at least
   * this many.
   */
  readonly largestBody: number;
  /** The maximum number of bytes of large responses in memory that callers have not read yet. */
  readonly maxUnsentBytes: number;
  /**
   * The number of database connections that requests share. Undefined for SQLite, which runs in the
   * process of the service.
   */
  readonly databaseConnections: number | undefined;
}

/** Smaller bodies and responses do not count: the buffers of their connections use as much memory. */
const SMALL_BYTES = 64 * 1024;

/** The share of one caller in the bytes of bodies, and in those of unsent responses. */
const BYTES_SHARE = 1 / 4;

const CONNECTIONS_SHARE = 3 / 4;

/** The number of reads of one resource that share a database connection. */
const READS_PER_CONNECTION = 8;

/** The maximum number of waiting requests. Each uses the buffer of its connection, about 64 KiB. */
const WAITING = { maxWaiting: 256, maxWaitingPerOwner: 64 };

/**
 * After a wait of so many milliseconds, a request first asks the operating system for its peer,
 * which costs as much as 2 % of a read.
 */
const FLOODED_MS = 50;

/** All requests without a token have one share of the unsent responses. */
const ANONYMOUS = 'anonymous';

const RETRY_AFTER_SECONDS = 1;

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the bytes reserved for the body. Undefined for a small body. */
    releaseBody: (() => void) | undefined;
    /** Releases the request's connection to the next request. Undefined without a connection. */
    releaseConnection: (() => void) | undefined;
  }
}

interface Admission {
  /**
   * Calls `enter` when the request's owner is next, or `refuse` if the caller has disconnected
   * meanwhile. Call it before any other work for the request, except storing when it began.
   */
  begin(request: FastifyRequest, enter: () => void, refuse: (error: Error) => void): void;
  /**
   * Throws `unavailable` if the caller has not read its earlier responses. Call it after the request
   * guard, which sets the caller.
   */
  check(request: FastifyRequest): void;
  /**
   * Releases what the request uses, and counts a large response until it is sent. Throws
   * `unavailable` for a response to GET that does not fit; responses to other methods are always
   * sent, because their requests have changed resources. Call it before the request log, which must
   * log only the final response.
   */
  leave(request: FastifyRequest, reply: FastifyReply, payload: unknown): void;
}

/**
 * Limits what one caller can cost others; callers that wait are served in rotation. In this order:
 *
 * - A request begins in a fair turn of the event loop, and once more after its body is read.
 * - A large body is read once its bytes fit. They stay reserved until the response is sent or, if the
 *   caller has disconnected, until the handler finishes. Requests fail with `unavailable` if too
 *   many wait.
 * - A handler runs once a database connection is free for its caller. A request that waits to scan
 *   many rows releases its connection, because scans have separate connections.
 * - A response waits in memory until it is read. A caller who does not read gets 503 for new
 *   requests, before any work is done.
 *
 * `ownerOf` is called for requests that wait, maybe before the guard. Call it before the routes are
 * added, and after `createGuard`.
 */
export function createAdmission(
  app: FastifyInstance,
  limits: AdmissionLimits,
  metrics: Metrics,
  ownerOf: (request: FastifyRequest) => string,
): Admission {
  app.decorateRequest('releaseBody', undefined);
  app.decorateRequest('releaseConnection', undefined);
  let connections = 0;
  app.server.on('connection', () => (connections += 1));
  const turns = createFairTurns({
    now: () => performance.now(),
    later: setImmediate,
    connections: () => connections,
  });
  const unsent = createUnsentBudget(limits.maxUnsentBytes);
  metrics.live('tsigil_unsent_response_bytes', unsent.bytes);
  limitBodies(app, limits);

  const wait: Admission['begin'] = (request, enter, refuse) => {
    const since = performance.now();
    turns.wait(ownerOf(request), () => {
      const { socket } = request.raw;
      const isGone =
        performance.now() - since > FLOODED_MS ? !isConnected(socket) : socket.destroyed;
      if (isGone) refuse(disconnected('before the request began'));
      else if (isShed(socket)) refuse(busy());
      else enter();
    });
  };
  const connect = sharedConnections(limits.databaseConnections);
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.body === undefined || turns.mayBegin()) connect(request, done);
    else wait(request, () => connect(request, done), done);
  });
  return {
    begin(request, enter, refuse) {
      if (turns.mayBegin()) enter();
      else wait(request, enter, refuse);
    },
    check({ caller }) {
      if (caller !== undefined && unsent.isFull(caller.id)) throw noRoom();
    },
    leave(request, reply, payload) {
      request.releaseConnection?.();
      if (!isLarge(payload) || request.method === 'HEAD' || request.raw.socket.destroyed) return;
      const owner = request.caller?.id ?? ANONYMOUS;
      const bytes = Buffer.byteLength(payload);
      if (request.method === 'GET' && !unsent.fits(owner, bytes)) throw noRoom();
      reply.raw.once('close', unsent.add(owner, bytes));
    },
  };
}

function disconnected(when: string): ServiceError {
  return new ServiceError('request_timeout', `The caller closed the connection ${when}`);
}

/** Waits for slots of a queue, then passes `begin` the function that frees them. */
function hold(
  queue: FairQueue,
  owner: string,
  begin: (release: () => void) => void,
  signal?: AbortSignal,
  slots?: number,
): Promise<void> {
  return queue.run(owner, () => new Promise<void>(begin), signal, slots);
}

/** Returns the function that lets a request wait for one of `connections` to the database. */
function sharedConnections(
  connections: number | undefined,
): (request: FastifyRequest, done: (error?: Error) => void) => void {
  if (connections === undefined) return (_request, done) => done();
  const queue = createFairQueue({
    concurrency: connections * READS_PER_CONNECTION,
    concurrencyPerOwner:
      Math.max(1, Math.floor(connections * CONNECTIONS_SHARE)) * READS_PER_CONNECTION,
    // A client connection has at most one waiting request. The limits on connections therefore also
    // bound the number of waiting requests.
    maxWaiting: Infinity,
    maxWaitingPerOwner: Infinity,
  });
  return (request, done) => {
    if (request.caller === undefined) {
      done();
      return;
    }
    const begin = (release: () => void) => {
      request.releaseConnection = release;
      done();
    };
    const slots = request.route.config.sharesConnection === true ? 1 : READS_PER_CONNECTION;
    hold(queue, request.caller.id, begin, undefined, slots).catch(done);
  };
}

function limitBodies(
  app: FastifyInstance,
  { maxBodyBytesInFlight, largestBody }: AdmissionLimits,
): void {
  const queue = createFairQueue({
    concurrency: Math.max(maxBodyBytesInFlight, largestBody),
    concurrencyPerOwner: Math.max(Math.floor(maxBodyBytesInFlight * BYTES_SHARE), largestBody),
    ...WAITING,
  });
  forRoutesWithBodies(app, (route) =>
    Object.assign(route, {
      onRequest(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) {
        const bytes = bodyBytes(request);
        if (bytes <= SMALL_BYTES) {
          done();
          return;
        }
        const { raw } = request;
        const begin = (release: () => void) => {
          request.releaseBody = release;
          // The handler of a body that does not arrive whole never runs.
          const onClose = () => (raw.complete ? undefined : release());
          raw.socket.once('close', onClose);
          raw.once('end', () => raw.socket.removeListener('close', onClose));
          done();
        };
        const owner = request.caller?.id ?? request.ip;
        const signal = connectionSignal(raw.socket);
        hold(queue, owner, begin, signal, bytes).catch((error: unknown) => {
          reply.header('connection', 'close'); // otherwise the service would still receive the body
          done(asError(error));
        });
      },
      onSend(request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: () => void) {
        const { releaseBody } = request;
        // The response to a disconnected caller may never close.
        if (request.raw.socket.destroyed) releaseBody?.();
        else if (releaseBody !== undefined) onceClosed(releaseBody, reply.raw, request.raw.socket);
        done();
      },
    }),
  );
}

/** Returns its Content-Length, or the limit of the route if the length is unknown. */
function bodyBytes({ headers, route }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return route.bodyLimit;
  return Number(headers['content-length'] ?? 0);
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

const signals = new WeakMap<Socket, AbortSignal>();

/**
 * Returns a signal that aborts when the connection closes, because no client then waits for the
 * responses. All requests of a connection share one signal.
 */
export function connectionSignal(socket: Socket): AbortSignal {
  const known = signals.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  const abort = () => controller.abort(disconnected('before the response'));
  if (socket.destroyed) abort();
  else socket.once('close', abort);
  signals.set(socket, controller.signal);
  return controller.signal;
}

/**
 * A function that runs the work of a request about many resources and returns its result. Rejects
 * with `unavailable` if too many requests wait, and with `request_timeout` if the caller disconnects
 * before the work begins.
 */
export type RunLongWork = <T>(
  request: FastifyRequest,
  work: (slicer: Slicer) => Promise<T>,
) => Promise<T>;

/**
 * Runs the work of `concurrency` requests at a time, and of one request per caller, because each uses
 * up to one slice of every turn of the event loop.
 */
export function createLongWork(concurrency: number): RunLongWork {
  const queue = createFairQueue({ concurrency, concurrencyPerOwner: 1, ...WAITING });
  return (request, work) => {
    // Otherwise requests in this queue could use all database connections of the caller.
    request.releaseConnection?.();
    const signal = connectionSignal(request.raw.socket);
    return queue.run(signedIn(request).id, () => work(newSlicer()), signal);
  };
}

/** Creates a budget for the bytes of large responses, of which one owner gets a quarter. */
function createUnsentBudget(maxBytes: number) {
  const share = maxBytes * BYTES_SHARE;
  const owners = new Map<string, number>();
  const rejected = new Set<string>();
  let total = 0;
  const owned = (owner: string) => owners.get(owner) ?? 0;
  return {
    bytes: () => total,
    /**
     * Returns whether the budget or the owner's share is used up, or a response of the owner did not
     * fit and none has been sent since.
     */
    isFull: (owner: string) =>
      (total >= share && (total >= maxBytes || owned(owner) >= share)) ||
      (rejected.size > 0 && rejected.has(owner)),
    /** Returns whether a response fits. One always fits if nothing else is unsent. */
    fits(owner: string, bytes: number): boolean {
      const fits =
        (total === 0 || total + bytes <= maxBytes) &&
        (owned(owner) === 0 || owned(owner) + bytes <= share);
      if (!fits) rejected.add(owner);
      return fits;
    },
    /** Counts a response. Returns a function to call once the response is sent. */
    add(owner: string, bytes: number): () => void {
      total += bytes;
      owners.set(owner, owned(owner) + bytes);
      return () => {
        rejected.clear();
        total -= bytes;
        const left = owned(owner) - bytes;
        if (left === 0) owners.delete(owner);
        else owners.set(owner, left);
      };
    },
  };
}

function isLarge(payload: unknown): payload is string | Buffer {
  return (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length > SMALL_BYTES;
}

function noRoom(): ServiceError {
  const message = 'Too many responses have not been read yet. Read them, and repeat the request.';
  return new ServiceError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
