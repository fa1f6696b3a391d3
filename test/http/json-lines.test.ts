import { setImmediate as nextTurn } from 'node:timers/promises';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { createLineSender } from '../../src/http/long-responses.ts';
import { prepareRoutes } from '../../src/http/request/routes.ts';

test('a stream that sends no lines ends when the caller disconnects', async () => {
  let hasEnded = false;
  async function* parts() {
    try {
      yield [{ first: true }];
      for (;;) {
        await nextTurn();
        yield [];
      }
    } finally {
      hasEnded = true;
    }
  }
  const app = fastify({ forceCloseConnections: true });
  onTestFinished(() => app.close());
  prepareRoutes(app);
  app.addHook('onRequest', (request, _reply, done) => {
    request.caller = { id: 'caller' } as Caller;
    done();
  });
  const sendLines = createLineSender();
  app.get('/', (request, reply) => sendLines(request, reply, parts));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const caller = new AbortController();
  const response = await fetch(url, { signal: caller.signal });
  expect(await response.body?.getReader().read()).toMatchObject({ done: false });
  expect(hasEnded).toBe(false);
  caller.abort();
  await expect.poll(() => hasEnded).toBe(true);
});
