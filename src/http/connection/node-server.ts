import { readFileSync } from 'node:fs';
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Metrics } from '../metrics/metrics.ts';
import { limitConnections, type ConnectionLimits, type CutOffReason } from './connections.ts';
import { runInOrder } from './pipelining.ts';

/** How long an idle connection stays open between two requests. */
const KEEP_ALIVE_MS = 72_000;

const HANDSHAKE_MS = 10_000;

export const MAX_HEADER_BYTES = 16 * 1024;

export interface NodeServerSettings extends ConnectionLimits {
  readonly requestTimeoutSeconds: number;
  /** The PEM files `cert` and `key` for HTTPS: both or neither. */
  readonly tls: {
    readonly cert: string | undefined;
    readonly key: string | undefined;
    /** The `max-age` of Strict-Transport-Security (RFC 6797 section 6.1.1). 0 omits the header. */
    readonly hstsMaxAgeSeconds: number;
  };
}

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-write=(self)',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * Returns the headers of every response, for browsers: no page may embed one or keep a handle on its
 * window. The pages of the service have a content security policy of their own.
 */
export function securityHeaders({
  cert,
  key,
  hstsMaxAgeSeconds,
}: NodeServerSettings['tls']): Readonly<Record<string, string>> {
  const isSecure = cert !== undefined && key !== undefined;
  return isSecure && hstsMaxAgeSeconds > 0
    ? { ...SECURITY_HEADERS, 'strict-transport-security': `max-age=${hstsMaxAgeSeconds}` }
    : SECURITY_HEADERS;
}

/**
 * Creates the Node.js server that Fastify uses, for HTTPS if `tls` names files. The server passes
 * the requests of each connection to `handle` in order. `writeRefusal` returns the complete
 * response to input that is not a valid request. Throws Node's error if a file in `tls` is unusable.
 */
export function createNodeServer(
  handle: RequestListener,
  settings: NodeServerSettings,
  metrics: Metrics,
  writeRefusal: (error: unknown) => string,
): Server {
  const { cert, key } = settings.tls;
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    // As an option of the constructor, requestTimeout also lowers headersTimeout. If headersTimeout
    // were longer, Node.js would not apply requestTimeout to slow bodies.
    requestTimeout: settings.requestTimeoutSeconds * 1000,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The request guard rejects requests without a Host header. Node's own response to them has no
    // body.
    requireHostHeader: false,
  };
  const isSecure = cert !== undefined && key !== undefined;
  const cutOff = (reason: CutOffReason) =>
    metrics.note('tsigil_connections_cut_off_total', 1, { reason });
  const server = isSecure
    ? createSecureServer({
        ...options,
        cert: readFileSync(cert),
        key: readFileSync(key),
        handshakeTimeout: HANDSHAKE_MS,
      })
    : createPlainServer(options);
  // By default, Node.js silently drops all headers after the first 1000, such as the one that a
  // proxy appends. maxHeaderSize bounds their number.
  server.maxHeadersCount = 0;
  const refuseInOrder = runInOrder(server, handle, () => cutOff('pipelining'));
  limitConnections(server, settings, metrics, cutOff);

  const refuse = (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') cutOff('tls_handshake');
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') cutOff('request_timeout');
    if (error.code === 'ECONNRESET') socket.destroy();
    else refuseInOrder(socket, writeRefusal(error));
  };
  server.on('clientError', refuse);
  // Ignore unknown values of the Expect header (RFC 9110 section 10.1.1).
  server.on(
    'checkExpectation',
    (request, response) => void server.emit('request', request, response),
  );
  server.on('connect', (_request, socket: Socket) => {
    // Node.js has removed its error listener. Without a listener, a connection reset ends the
    // process.
    socket.on('error', () => undefined);
    refuse(new Error('CONNECT'), socket);
  });
  return server;
}

/** A certificate chain and its private key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Affects only later connections over TLS. Throws Node's error for an unusable certificate. */
export function changeCertificate(server: Server, certificate: Certificate): void {
  if (server instanceof SecureServer) server.setSecureContext({ ...certificate });
}
