import { createServer as createTcpServer } from 'node:net';
import { expect, test } from 'vitest';
import { deadlineAfter } from '../../src/net/deadline.ts';
import { NetError } from '../../src/net/faults.ts';
import { createHttpClient, type HttpRequest } from '../../src/net/http.ts';
import { freePort, serve } from '../harness/connections.ts';

const client = createHttpClient({ trust: {}, maxResponseBytes: 1000, attempts: 3 });
const get = (url: string): HttpRequest => ({ method: 'GET', url, headers: {} });

/** Returns the error of a request that must fail. */
async function failure(request: HttpRequest, seconds = 10): Promise<NetError> {
  const error: unknown = await client
    .send(request, deadlineAfter(seconds))
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(NetError);
  return error as NetError;
}

test('returns the status, the headers and the text of a response', async () => {
  const url = await serve((request, response) => {
    response.writeHead(404, 'Not here', { 'x-name': request.headers['x-name'] }).end('grüße');
  });
  const response = await client.send(
    { method: 'PUT', url, headers: { 'x-name': 'value' }, body: 'é' },
    deadlineAfter(10),
  );
  expect(response).toMatchObject({ status: 404, statusText: 'Not here', text: 'grüße' });
  expect([response.header('x-name'), response.header('x-other')]).toEqual(['value', undefined]);
});

test('retries GET and repeatable requests after 429, 5xx and broken connections, but no other requests', async () => {
  for (const fail of [429, 503, 'break'] as const) {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      seen.push(request.method ?? '');
      if (seen.length > 2) response.end('done');
      else if (fail === 'break') response.destroy();
      else response.writeHead(fail).end();
    });
    expect((await client.send(get(url), deadlineAfter(10))).text).toBe('done');
    expect(seen).toEqual(['GET', 'GET', 'GET']);
    seen.length = 0;
    expect(
      (await client.send({ method: 'POST', url, headers: {}, repeatable: true }, deadlineAfter(10)))
        .text,
    ).toBe('done');
    expect(seen).toEqual(['POST', 'POST', 'POST']);
    seen.length = 0;
    const once = client.send({ method: 'DELETE', url, headers: {} }, deadlineAfter(10));
    if (fail === 'break')
      await expect(once).rejects.toThrow(
        'the server closed the connection before its response was complete',
      );
    else expect((await once).status).toBe(fail);
    expect(seen).toEqual(['DELETE']);
  }
});

test('returns the last response if all attempts fail', async () => {
  let count = 0;
  const url = await serve(
    (_request, response) => void response.writeHead(500 + (count += 1)).end(),
  );
  expect((await client.send(get(url), deadlineAfter(10))).status).toBe(503);
});

test('fails at the deadline, which covers all attempts and pauses', async () => {
  let count = 0;
  const url = await serve((_request, response) => {
    count += 1;
    setTimeout(() => response.writeHead(503).end(), 200);
  });
  expect((await failure(get(url), 0.3)).message).toBe('no response within 0.3 seconds');
  expect(count).toBeLessThan(3);
});

test('refuses a response larger than maxResponseBytes', async () => {
  const url = await serve((_request, response) => {
    response.end('x'.repeat(1001));
  });
  expect((await failure(get(url))).message).toBe('the response has more than 1000 bytes');
});

test('returns a redirect instead of following it', async () => {
  let count = 0;
  const url = await serve((_request, response) => {
    count += 1;
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  expect(
    (await client.send({ ...get(url), headers: { 'x-auth-token': 'token' } }, deadlineAfter(10)))
      .status,
  ).toBe(302);
  expect(count).toBe(1);
});

test.each<[string, () => Promise<string>, string]>([
  [
    'a port without a listener',
    async () => `http://127.0.0.1:${await freePort()}`,
    'nothing listens at the address',
  ],
  [
    'a host name that does not exist',
    async () => Promise.resolve('http://nowhere.invalid'),
    'resolve',
  ],
  [
    'a server that closes the connection',
    () => serve(createTcpServer((socket) => void socket.on('error', () => undefined).destroy())),
    'the server closed the connection before its response was complete',
  ],
  [
    'a server of another protocol',
    () =>
      serve(
        createTcpServer((socket) => void socket.on('error', () => undefined).end('220 mail\r\n')),
      ),
    'the response is not HTTP',
  ],
  [
    'TLS to a server without it',
    async () =>
      (await serve((_request, response) => void response.end())).replace('http:', 'https:'),
    'TLS',
  ],
])('describes the error in plain words: %s', async (_case, open, reason) => {
  const { message } = await failure(get(await open()));
  expect(message).toContain(reason);
  expect(message).not.toMatch(/E[A-Z]{3}|hang up|SSL|:\d/);
});

test('fails at the deadline even while it waits for a free connection', async () => {
  const url = await serve(() => undefined);
  const narrow = createHttpClient({
    trust: {},
    maxResponseBytes: 1000,
    attempts: 1,
    maxConnections: 1,
  });
  const first = narrow.send(get(url), deadlineAfter(0.6));
  const second = narrow.send(get(url), deadlineAfter(0.1));
  await expect(second).rejects.toThrow('no response within 0.1 seconds');
  await expect(first).rejects.toThrow('no response within 0.6 seconds');
  narrow.close();
});
