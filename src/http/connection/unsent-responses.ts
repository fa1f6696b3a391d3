import type { FastifyReply, FastifyRequest } from 'fastify';
import { Gauge, type Registry } from 'prom-client';
import { ServiceError } from '../../domain/model/errors.ts';

/** Responses below this size are not counted. Most fit into the buffers of the system. */
const SMALL_BYTES = 64 * 1024;

/** One caller's part of the budget. All requests without a token share one part. */
const SHARE = 1 / 4;
const ANONYMOUS = 'anonymous';

const RETRY_AFTER_SECONDS = 1;

/** The bytes of large responses that are in memory until callers read them. */
export interface UnsentBudget {
  /** Returns the number of bytes of all owners. */
  readonly bytes: () => number;
  /**
   * Returns whether an owner has used all of its memory. Also returns true if its last response did
   * not fit and none was sent since.
   */
  readonly isFull: (owner: string) => boolean;
  /**
   * Returns whether a response of `bytes` fits. One response always fits if nothing else is unsent.
   */
  readonly fits: (owner: string, bytes: number) => boolean;
  /** Counts a response. Returns a function to call when the response was sent. */
  readonly add: (owner: string, bytes: number) => () => void;
}

/** Creates a budget of `maxBytes`. One owner gets at most a quarter. */
export function createUnsentBudget(maxBytes: number): UnsentBudget {
  const share = maxBytes * SHARE;
  const owners = new Map<string, number>();
  const rejected = new Set<string>();
  let total = 0;
  const owned = (owner: string) => owners.get(owner) ?? 0;
  return {
    bytes: () => total,
    isFull: (owner) =>
      (total >= share && (total >= maxBytes || owned(owner) >= share)) ||
      (rejected.size > 0 && rejected.has(owner)),
    fits(owner, bytes) {
      const fits =
        (total === 0 || total + bytes <= maxBytes) &&
        (owned(owner) === 0 || owned(owner) + bytes <= share);
      if (!fits) rejected.add(owner);
      return fits;
    },
    add(owner, bytes) {
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

/** Limits the bytes of unsent responses with two functions that throw `unavailable`. */
export interface UnsentLimit {
  /** Checks a new request. Call it after the guard, which sets the caller. */
  readonly check: (request: FastifyRequest) => void;
  /**
   * Counts a response, or rejects it. Call it before the request log, which must log the final
   * response only.
   */
  readonly count: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => void;
}

/**
 * Limits the bytes of unsent responses. A caller without room gets 503 for new requests to the API,
 * before any work is done. A large response to GET that does not fit also becomes 503. Its request
 * may have started when there was room. Other methods have changed resources, so their responses
 * are sent and counted.
 */
export function limitUnsentResponses(maxBytes: number, registry: Registry): UnsentLimit {
  const budget = createUnsentBudget(maxBytes);
  new Gauge({
    name: 'tsigil_unsent_response_bytes',
    help: 'Bytes of large responses that callers have not read yet.',
    registers: [registry],
    collect() {
      this.set(budget.bytes());
    },
  });
  return {
    check(request) {
      if (request.caller !== undefined && budget.isFull(request.caller.id)) throw noRoom();
    },
    count(request, reply, payload) {
      if (!isLarge(payload) || request.method === 'HEAD' || request.raw.socket.destroyed) return;
      const owner = request.caller?.id ?? ANONYMOUS;
      const bytes = Buffer.byteLength(payload);
      if (request.method === 'GET' && !budget.fits(owner, bytes)) throw noRoom();
      reply.raw.once('close', budget.add(owner, bytes));
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
