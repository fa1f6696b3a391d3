import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../domain/model/errors.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** Responses up to this size are not counted, because most fit into the kernel's socket buffers. */
const SMALL_BYTES = 64 * 1024;

/** One caller's share of the budget. All requests without a token together have one share. */
const SHARE = 1 / 4;
const ANONYMOUS = 'anonymous';

const RETRY_AFTER_SECONDS = 1;

/**
 * A budget for the bytes of large responses, which stay in memory until callers read them. An owner
 * is one caller, or all requests without a token.
 */
export interface UnsentBudget {
  /** Returns the number of unsent bytes of all owners. */
  readonly bytes: () => number;
  /**
   * Returns whether the budget or the owner's share is used up. Also returns true if a response of
   * the owner did not fit and no response has been sent since.
   */
  readonly isFull: (owner: string) => boolean;
  /**
   * Returns whether a response of `bytes` fits. One response always fits if nothing else is unsent.
   */
  readonly fits: (owner: string, bytes: number) => boolean;
  /** Counts a response. Returns a function to call once the response is sent. */
  readonly add: (owner: string, bytes: number) => () => void;
}

/** Creates a budget of `maxBytes`. One owner gets at most a quarter of the budget. */
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

/** Two functions that limit the bytes of unsent responses. Both throw an `unavailable` error. */
export interface UnsentLimit {
  /** Checks a new request. Call it after the request guard, which sets the caller. */
  readonly check: (request: FastifyRequest) => void;
  /**
   * Counts or rejects a response. Call it before the request log, which must log only the final
   * response.
   */
  readonly count: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => void;
}

/**
 * Limits the bytes of unsent responses. A caller whose share is used up gets 503 for new requests
 * to the API, before any work is done. A large response to GET that does not fit also becomes 503.
 * This also applies to requests that started before the share was used up. Responses to other
 * methods are always sent and counted, because their requests have changed resources.
 */
export function limitUnsentResponses(maxBytes: number, metrics: Metrics): UnsentLimit {
  const budget = createUnsentBudget(maxBytes);
  metrics.live('tsigil_unsent_response_bytes', budget.bytes);
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
