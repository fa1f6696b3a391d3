import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, isIPv4, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * The maximum number of connections that wait to be accepted. With Node's default of 511, further
 * clients in a burst would retry after 1 s or more.
 */
const BACKLOG = 4096;

/** Returns all addresses of `localhost`, because clients may connect to any of them. */
export async function listenAddresses(host: string): Promise<readonly string[]> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
}

/**
 * Returns the URL of the first address. Throws Node's error if it cannot listen on that one, but
 * skips any other. Call it once, before the app is ready.
 */
export async function listen(
  app: FastifyInstance,
  addresses: readonly string[],
  port: number,
): Promise<string> {
  const [host = '127.0.0.1', ...others] = addresses;
  const relays: Server[] = [];
  let closed: Promise<unknown> = Promise.resolve();
  app.addHook('preClose', async () => {
    closed = Promise.all(relays.map((relay) => once(relay.close(), 'close')));
  });
  app.addHook('onClose', async () => {
    await closed;
  });
  const url = await app.listen({ host, port, backlog: BACKLOG });
  for (const other of others) {
    const relay = createServer(
      { allowHalfOpen: true, noDelay: true },
      (socket) => void app.server.emit('connection', socket),
    );
    relay.listen(Number(new URL(url).port), other, BACKLOG);
    await once(relay, 'listening').then(
      () => relays.push(relay),
      () => undefined,
    );
  }
  return url;
}

/** Returns the host and the port of an address to listen on, such as `[::1]:9001`. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  return {
    host: address.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(address.slice(colon + 1)),
  };
}

/** Returns whether only this machine can reach `host`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
