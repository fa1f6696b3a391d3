import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2). */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * Returns the client's address. With trusted proxy headers, returns the last element of
 * `X-Forwarded-For`, which the proxy adds. In all other cases, and if that element is not an
 * address, returns the address of the TCP peer. Returns undefined if the connection closed before
 * the request was read.
 */
export function clientAddress(
  request: FastifyRequest,
  trustProxyHeaders: boolean,
): string | undefined {
  const forwarded = trustProxyHeaders ? lastAddress(request.headers['x-forwarded-for']) : undefined;
  const address = forwarded ?? request.socket.remoteAddress;
  return address === undefined ? undefined : withoutMapping(address);
}

/**
 * Returns false if `X-Forwarded-For` of a trusted proxy contains no valid address. In this case,
 * `clientAddress` returns the proxy's address.
 */
export function isStatedAddress(
  { headers }: Pick<FastifyRequest, 'headers'>,
  trustProxyHeaders: boolean,
): boolean {
  const forwarded = headers['x-forwarded-for'];
  return !trustProxyHeaders || forwarded === undefined || lastAddress(forwarded) !== undefined;
}

/** Returns the IPv4 address in an IPv4-mapped IPv6 address. Returns other addresses unchanged. */
export function withoutMapping(address: string): string {
  return address.startsWith(':') ? (MAPPED.exec(address)?.[1] ?? address) : address;
}

/**
 * Returns the address in the last element of `X-Forwarded-For`. Removes a port, which some proxies
 * add (RFC 7239 section 6). Returns undefined if the header is absent or the element is not an
 * address.
 */
function lastAddress(header: string | string[] | undefined): string | undefined {
  const last = (
    String(header ?? '')
      .split(',')
      .at(-1) ?? ''
  ).trim();
  const address =
    /^\[([^\]]*)\](?::\d+)?$/.exec(last)?.[1] ?? /^([\d.]+):\d+$/.exec(last)?.[1] ?? last;
  return isIP(address) === 0 ? undefined : address;
}

/**
 * Returns the key under which limits count an address: the IPv4 address, or the /64 of an IPv6
 * address. Providers assign at least a /64 to each customer (RFC 6177 section 2).
 */
export function addressGroup(address: string): string {
  if (!address.includes(':')) return address;
  const [text = ''] = address.split('%'); // without the zone id (RFC 4007 section 11)
  const [head = [], tail = []] = text
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')));
  const tailLength = tail.length + (tail.at(-1)?.includes('.') === true ? 1 : 0);
  const zeros = text.includes('::')
    ? Array.from({ length: 8 - head.length - tailLength }, () => '0')
    : [];
  const network = [...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
