import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../domain/model/errors.ts';
import { networksOf } from '../domain/text/networks.ts';
import { isStatedAddress } from './connection/client-address.ts';
import { tokenOf } from './request/guard.ts';

/** The callers who may read the metrics. */
export interface MetricsAccess {
  /** The token that requests must have. Undefined if requests need no token. */
  readonly token: string | undefined;
  /**
   * The addresses and networks of allowed callers, such as `10.0.0.0/8`. Empty to allow all
   * addresses.
   */
  readonly addresses: readonly string[];
  /** Whether to read the caller's address from `X-Forwarded-For`. */
  readonly trustProxyHeaders: boolean;
}

/**
 * Returns a function that checks a request for the metrics. It throws `address_denied` if the
 * address is not allowed, and `unauthenticated` if the token is missing or wrong.
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

/** Returns a hash of fixed length, so that tokens of any length are compared in constant time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
