import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** An IPv4 address as an IPv6 socket shows it (RFC 4291 section 2.5.5.2). */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The address of the client: the TCP peer's or, where proxy headers are trusted, the last element of `X-Forwarded-For`,
 * which is the one that the proxy itself wrote. Undefined for a connection that was closed before the request was read.
 */
export function clientAddress(
  request: FastifyRequest,
  trustProxyHeaders: boolean,
): string | undefined {
  const forwarded = trustProxyHeaders ? lastAddress(request.headers['x-forwarded-for']) : undefined;
  const address = forwarded ?? request.socket.remoteAddress;
  return address === undefined ? undefined : withoutMapping(address);
}

/** An IPv4 address as such, where an IPv6 socket shows it; other addresses as they are. */
export function withoutMapping(address: string): string {
  return address.startsWith(':') ? (MAPPED.exec(address)?.[1] ?? address) : address;
}

function lastAddress(header: string | string[] | undefined): string | undefined {
  const last = String(header ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  return last !== undefined && isIP(last) !== 0 ? last : undefined;
}

/**
 * What counts as one address: an IPv4 address, or the /64 of an IPv6 address, which is the least that a network gives to one
 * customer (RFC 6177 section 2).
 */
export function addressGroup(address: string): string {
  if (!address.includes(':')) return address;
  const [text = ''] = address.split('%'); // without the zone
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
