import type { FastifyRequest } from 'fastify';
import { SESSION_CREDENTIAL } from '../../resources/session.ts';
import { isLoopback } from '../connection/listen.ts';
import { baseUrl, type UrlSettings } from './urls.ts';

/** The cookie of a session of the web console, by how a browser reaches the service. */
interface SessionCookie {
  readonly name: string;
  readonly attributes: string;
}

/**
 * Returns the cookie for a base URL. Undefined for plain HTTP to another host than the browser's
 * own: a session there could be read on the way.
 *
 * Browsers send a cookie to all ports of a host, so the name of an unencrypted one has the port.
 * `__Host-` makes them refuse a cookie of another host or path (RFC 6265bis section 4.1.3.2).
 */
export function cookieFor(base: string): SessionCookie | undefined {
  const { protocol, hostname, port } = new URL(base);
  const attributes = 'HttpOnly; SameSite=Strict; Path=/';
  if (protocol === 'https:') return { name: '__Host-tsigil', attributes: `Secure; ${attributes}` };
  return isLoopback(hostname.replace(/^\[|\]$/g, ''))
    ? { name: `tsigil-${port || '80'}`, attributes }
    : undefined;
}

/** Returns whether a page of the service itself sent a request, as its browser says. */
export function isSameOrigin({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['sec-fetch-site'] === 'same-origin';
}

const VALUE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Returns the value of the session's cookie. It counts only in requests of pages of the service
 * itself: for browsers, a sibling subdomain is the same site, and the pages of allowed origins send
 * cookies too.
 */
export function sessionValue(request: FastifyRequest, urls: UrlSettings): string | undefined {
  const { cookie } = request.headers;
  if (cookie === undefined || !isSameOrigin(request)) return undefined;
  const name = cookieOf(request, urls)?.name;
  const values = cookie.split(';').flatMap((pair) => {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    return key === name ? [value] : [];
  });
  const [value = ''] = values;
  return values.length === 1 && VALUE.test(value) ? value : undefined;
}

/** Returns the credential of the session in a request, which no token header can contain. */
export function sessionOf(request: FastifyRequest, urls: UrlSettings): string | undefined {
  const value = sessionValue(request, urls);
  return value === undefined ? undefined : SESSION_CREDENTIAL + value;
}

function cookieOf(request: FastifyRequest, urls: UrlSettings): SessionCookie | undefined {
  try {
    return cookieFor(baseUrl(request, urls));
  } catch {
    return undefined; // the guard refuses the host
  }
}
