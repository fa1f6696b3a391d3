import { createHash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../domain/model/errors.ts';
import { lastAddress } from './connection/client-address.ts';
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
  const allowed = listNetworks(addresses);
  // Without a readable address from the proxy, `request.address` is that of the proxy itself.
  const isKnown = ({ headers }: FastifyRequest) =>
    !trustProxyHeaders ||
    headers['x-forwarded-for'] === undefined ||
    lastAddress(headers['x-forwarded-for']) !== undefined;
  const expected = token === undefined ? undefined : digest(token);
  return (request) => {
    if (addresses.length > 0 && !(isKnown(request) && includes(allowed, request.address)))
      throw new ServiceError('address_denied');
    if (expected !== undefined && !timingSafeEqual(digest(tokenOf(request) ?? ''), expected))
      throw new ServiceError('unauthenticated');
  };
}

function listNetworks(addresses: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const text of addresses) {
    const [address = '', prefix] = text.split('/');
    if (prefix === undefined) networks.addAddress(address, family(address));
    else networks.addSubnet(address, Number(prefix), family(address));
  }
  return networks;
}

function includes(networks: BlockList, address = ''): boolean {
  const [plain = ''] = address.split('%'); // without the zone (RFC 4007 section 11)
  return networks.check(plain, family(plain));
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** Returns a hash, so that tokens of any length compare in constant time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
