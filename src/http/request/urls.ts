import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../core/errors.ts';
import type { Parameter } from '../../resources/operations/list-query.ts';

export interface UrlSettings {
  /** Without a trailing slash. Undefined to use the request's Host header. */
  readonly publicUrl: string | undefined;
  readonly trustProxyHeaders: boolean;
}

const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' };

/**
 * Returns the base URL of the service as this caller uses it, without a trailing slash. Throws
 * `bad_request` for an invalid Host header and for more than one. Also throws `bad_request` for a
 * missing Host header, unless the protocol is HTTP/1.0 (RFC 9112 section 3.2).
 */
export function baseUrl(request: FastifyRequest, settings: UrlSettings): string {
  if (countHosts(request.raw.rawHeaders) > 1)
    throw new ServiceError('bad_request', 'The request has more than one Host header. Send one.');
  if (request.headers.host === undefined && request.raw.httpVersion !== '1.0')
    throw new ServiceError('bad_request', 'The Host header is missing. Send one.');
  if (settings.publicUrl !== undefined) return settings.publicUrl;
  const { 'x-forwarded-proto': proto, 'x-forwarded-host': forwardedHost } =
    settings.trustProxyHeaders ? request.headers : {};
  const scheme = (firstOf(proto) ?? request.protocol).toLowerCase();
  const host = firstOf(forwardedHost) ?? request.headers.host ?? localAddress(request);
  if (scheme !== lastBase.scheme || host !== lastBase.host)
    lastBase = { scheme, host, url: joinBase(scheme, host) };
  return lastBase.url;
}

/** The base URL that was built last. Most requests have the same base URL. */
let lastBase = { scheme: '', host: '', url: '' };

function joinBase(scheme: string, host: string): string {
  const port = Object.hasOwn(DEFAULT_PORTS, scheme) ? DEFAULT_PORTS[scheme] : undefined;
  if (port === undefined || !HOST.test(host))
    throw new ServiceError(
      'bad_request',
      'The Host header is not valid. Send a host name or an IP address, with an optional port.',
    );
  return `${scheme}://${host.endsWith(port) ? host.slice(0, -port.length) : host}`;
}

/** Node's `headers` contain only the first. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

function firstOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  return String(header).split(',', 1)[0]?.trim() || undefined;
}

/** Returns the base URL for HTTP/1.0 requests, which need no Host header. */
function localAddress({ socket }: FastifyRequest): string {
  const address = socket.localAddress ?? '127.0.0.1';
  return `${address.includes(':') ? `[${address}]` : address}:${socket.localPort}`;
}

/** Keeps the order. Throws `bad_request` for text that is not properly encoded UTF-8. */
export function readParameters(url: string): Parameter[] {
  const start = url.indexOf('?');
  if (start < 0) return [];
  try {
    return url
      .slice(start + 1)
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const equals = pair.indexOf('=');
        return equals < 0
          ? [decode(pair), '']
          : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))];
      });
  } catch (cause) {
    throw new ServiceError(
      'bad_request',
      'The query string is not properly encoded. Percent-encode it as UTF-8.',
      { cause },
    );
  }
}

/** Form-encodes `parameters` as the query string. */
export function withParameters(url: string, parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return url;
  return `${url}?${parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;
}

/** Returns the parameters with the marker last, because clients cut the link at the marker. */
export function withMarker(parameters: readonly Parameter[], marker: string): Parameter[] {
  return [...parameters.filter(([name]) => name !== 'marker'), ['marker', marker]];
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('%20', '+')
    .replaceAll(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
}

/**
 * Returns the path and query of a request target. Removes the scheme and host of the absolute form
 * (RFC 9112 section 3.2.2). Also removes empty segments and trailing slashes from the path, because
 * scripts join `…/v2/` and `/tlds`.
 */
export function pathAndQuery(target: string): string {
  if (target === '*') return '/'; // `*` means the whole service (RFC 9110 section 7.1)
  const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
  return withoutEmptySegments(url === '' || url.startsWith('?') ? `/${url}` : url);
}

function withoutEmptySegments(url: string): string {
  const query = url.indexOf('?');
  const pathEnd = query < 0 ? url.length : query;
  if (!url.includes('//') && url[pathEnd - 1] !== '/') return url;
  const path = url.slice(0, pathEnd).replaceAll(/\/{2,}/g, '/');
  return (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path) + url.slice(pathEnd);
}
