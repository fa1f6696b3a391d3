import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fastify, { type FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { addRoutes, handlersEnded, prepareRoutes } from '../../src/http/request/routes.ts';

/** Begins a request whose handler lasts until the returned function is called, and disconnects. */
async function leaveRequest(app: FastifyInstance): Promise<() => void> {
  prepareRoutes(app);
  const { promise, release } = gate();
  const entered = gate();
  const handler = async () => {
    entered.release();
    await promise;
    return '';
  };
  addRoutes(app, '/', [{ method: 'GET', handler }]);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const client = connect((app.server.address() as { port: number }).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: tsigil\r\n\r\n');
  await entered.promise;
  client.destroy();
  await once(client, 'close');
  return release;
}

function gate(): { readonly promise: Promise<void>; readonly release: () => void } {
  const released = new AbortController();
  return {
    promise: once(released.signal, 'abort').then(() => undefined),
    release: () => released.abort(),
  };
}

test('a stop waits for a handler whose client has disconnected', async () => {
  const app = fastify();
  const release = await leaveRequest(app);
  await app.close();
  let hasEnded = false;
  const ended = handlersEnded(app, new AbortController().signal).then(() => (hasEnded = true));
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  expect(hasEnded).toBe(false);
  release();
  await ended;
});
