import { once } from 'node:events';
import {
  createServer,
  request,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A request that the gateway received. */
export interface Passed {
  /** The method and the path, without the query. */
  readonly what: string;
  readonly headers: IncomingMessage['headers'];
}

/**
 * A gateway between a service and its Keystone. It records and forwards requests, or responds as a
 * proxy does when Keystone is unavailable.
 */
export interface Gateway {
  readonly url: string;
  readonly passed: Passed[];
  /** Returns the number of requests with this method and path, such as `GET /v3/auth/tokens`. */
  count(what: string): number;
  /**
   * Sets what the gateway does with each later request. A number is the status of its response. For
   * `silence`, the gateway sends no response. For `pass`, it forwards the request.
   */
  behave(decide: () => number | 'silence' | 'pass'): void;
  close(): Promise<void>;
}

/** Starts a gateway to the HTTP server at `target`. With `tls`, the gateway uses HTTPS. */
export async function startGateway(
  target: string,
  tls?: { key: string; cert: string },
): Promise<Gateway> {
  const passed: Passed[] = [];
  let decide: Parameters<Gateway['behave']>[0] = () => 'pass';
  const listener: RequestListener = (incoming, outgoing) => {
    passed.push({
      what: `${incoming.method} ${incoming.url?.split('?')[0]}`,
      headers: incoming.headers,
    });
    const decision = decide();
    if (decision === 'pass') pass(incoming, outgoing, target);
    else if (decision !== 'silence')
      outgoing.writeHead(decision, { 'content-type': 'text/html' }).end(`<h1>${decision}</h1>`);
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    passed,
    count: (what) => passed.filter((each) => each.what === what).length,
    behave: (next) => (decide = next),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, target: string): void {
  const { method = 'GET', headers, url = '/' } = incoming;
  const forward = request(target + url, { method, headers, agent: false }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  forward.on('error', () => outgoing.headersSent || outgoing.writeHead(502).end());
  incoming.pipe(forward);
}
