import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../domain/model/errors.ts';
import { networksOf } from '../domain/text/networks.ts';
import { isStatedAddress } from './connection/client-address.ts';
import { tokenOf } from './request/guard.ts';

/** The callers who may read the metrics. */
export interface MetricsAccess {
  /** The token that requests must have. Undefined if they need none. */
  readonly token: string | undefined;
  /** The addresses and networks of callers, such as `10.0.0.0/8`. Empty for all addresses. */
  readonly addresses: readonly string[];
  /** Whether a proxy states the caller's address. */
  readonly trustProxyHeaders: boolean;
}

/**
 * Returns a function that checks a request for the metrics. It throws `address_denied` for a caller
 * from another address, and `unauthenticated` for a caller without the token.
 */
export function createMetricsCheck(access: MetricsAccess): (request: FastifyRequest) => void {
  const { token, addresses, trustProxyHeaders } = access;
  const allowed = networksOf(addresses);
  const expected = token === undefined ? undefined : digest(token);
  return (request) => {
    const isAllowed = () =>
      isStatedAddress(request, trustProxyHeaders) && allowed.includes(request.address);
    if (addresses.length > 0 && !isAllowed()) throw new ServiceError('address_denied');
    if (expected !== undefined && !timingSafeEqual(digest(tokenOf(request) ?? ''), expected))
      throw new ServiceError('unauthenticated');
  };
}

/** Returns a hash, so that tokens of any length compare in constant time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
