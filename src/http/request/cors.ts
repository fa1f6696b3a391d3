import type { FastifyReply, FastifyRequest } from 'fastify';
import { REQUEST_ID_HEADER, WARNING_HEADER } from './context.ts';

const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'If-Match',
  'If-None-Match',
  'X-Auth-Token',
  'X-Auth-Sudo-Tenant-ID',
  'X-Auth-Sudo-Project-ID',
  'X-Auth-All-Projects',
  'X-Designate-Edit-Managed-Records',
  'X-Designate-Hard-Delete',
  'OpenStack-DNS-Hide-Counts',
  'Tsigil-Force',
  'Tsigil-Hide-Secrets',
];
const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD'];
const MAX_AGE_SECONDS = 3600;

/**
 * Sets the headers that let a page from an allowed origin read the response (Fetch standard, CORS
 * protocol). Responses to other requests get at most a `Vary` header. Browsers never add token
 * headers themselves, and the cookie of a session does not count for pages of other origins.
 */
export function allowOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  allowedOrigins: readonly string[],
): void {
  if (allowedOrigins.length === 0) return;
  const { origin } = request.headers;
  reply.header('vary', 'Origin');
  if (origin === undefined || !allowedOrigins.includes(origin)) return;
  reply.header('access-control-allow-origin', origin);
  reply.header('access-control-allow-credentials', 'true');
  const method = request.headers['access-control-request-method'];
  if (request.method !== 'OPTIONS' || method === undefined) {
    reply.header(
      'access-control-expose-headers',
      `${REQUEST_ID_HEADER}, ETag, Location, Retry-After, ${WARNING_HEADER}`,
    );
    return;
  }
  if (!METHODS.includes(method)) return;
  reply.header('access-control-allow-methods', METHODS.join(', '));
  reply.header('access-control-allow-headers', REQUEST_HEADERS.join(', '));
  reply.header('access-control-max-age', String(MAX_AGE_SECONDS));
}
