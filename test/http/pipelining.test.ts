import { once } from 'node:events';
import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { isShed, runInOrder } from '../../src/http/connection/pipelining.ts';
import { isClosing, parseResponses, statusesOf } from '../harness/wire.ts';

let server: Server;
let began: { request: IncomingMessage; response: ServerResponse }[];
let excess: number;
let parsed: number;

/** A request that increments `parsed` when Node.js has parsed it. */
class CountedMessage extends IncomingMessage {
  constructor(socket: Socket) {
    super(socket);
    parsed += 1;
  }
}

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function start(): Promise<void> {
  [began, excess, parsed] = [[], 0, 0];
  server = createServer({ requireHostHeader: false, IncomingMessage: CountedMessage });
  const refuse = runInOrder(
    server,
    (request, response) => began.push({ request, response }),
    () => (excess += 1),
  );
  server.on('clientError', (_error, socket: Socket) =>
    refuse(socket, 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
}

/**
 * Sends `text` on a new connection. Returns the connection, and a function that returns the text
 * received so far.
 */
async function send(text: string): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (part: string) => (received += part));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  return { socket, received: () => received };
}

const get = (path: string) => `GET /${path} HTTP/1.1\r\n\r\n`;
const gets = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => get(String(from + index))).join('');
const urls = () => began.map(({ request }) => request.url);
const answer = (index: number) => {
  const { request, response } = began[index] ?? {};
  response?.setHeader('Content-Length', String(request?.url).length).end(request?.url);
};

test('a connection with more than 64 waiting requests gets 65 responses and then closes', async () => {
  await start();
  const { socket, received } = await send(gets(3000));
  const closed = once(socket, 'close');
  for (let index = 0; index < 65; index += 1) {
    await expect.poll(() => began.length, { interval: 1 }).toBe(index + 1);
    answer(index);
  }
  await closed;
  const responses = parseResponses(received());
  expect(responses.map(({ body }) => body)).toEqual(
    Array.from({ length: 65 }, (_, index) => `/${index}`),
  );
  expect(responses.map(isClosing)).toEqual(responses.map((_, index) => index === 64));
  expect([began.length, excess]).toEqual([65, 1]);
  expect(parsed).toBeLessThan(70); // Node.js must not parse the other requests
});

test('at most 1024 requests wait on all connections, and closed connections free the slots of their requests', async () => {
  await start();
  for (let round = 1; round <= 2; round += 1) {
    [began, excess] = [[], 0];
    const sent = await Promise.all(Array.from({ length: 18 }, () => send(gets(65))));
    await expect.poll(() => began.length).toBe(18);
    await expect.poll(() => excess).toBe(2);
    expect(began.filter(({ request }) => isShed(request.socket))).toHaveLength(2);
    const closed = Promise.all(began.map(({ response }) => once(response, 'close')));
    for (const { socket } of sent) socket.resetAndDestroy();
    await closed;
    await turn();
    expect(began.length).toBe(18);
  }
});

test('waiting requests get responses after the client has half-closed the connection', async () => {
  await start();
  const { socket, received } = await send(gets(5));
  socket.end();
  for (let index = 0; index < 5; index += 1) {
    await expect.poll(() => began.length).toBe(index + 1);
    answer(index);
  }
  await expect.poll(() => statusesOf(received())).toEqual([200, 200, 200, 200, 200]);
});

test('an invalid request gets 400 after the responses to earlier requests', async () => {
  await start();
  const { socket, received } = await send(`${gets(3)}NONSENSE\r\n\r\n${gets(3)}`);
  const closed = once(socket, 'close');
  for (let index = 0; index < 3; index += 1) {
    await expect.poll(() => began.length).toBe(index + 1);
    expect(received()).not.toContain('400');
    answer(index);
  }
  await closed;
  expect(statusesOf(received())).toEqual([200, 200, 200, 400]);
});

test('a request with an invalid body does not run and gets 400 in its position', async () => {
  await start();
  const chunked = 'POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n';
  const { socket, received } = await send(`${gets(2)}${chunked}no chunk\r\n`);
  const closed = once(socket, 'close');
  await expect.poll(urls).toEqual(['/0']);
  answer(0);
  await expect.poll(urls).toEqual(['/0', '/1']);
  answer(1);
  await closed;
  expect(statusesOf(received())).toEqual([200, 200, 400]);
  expect(began.length).toBe(2);
});

test('waiting requests get responses while the service stops, but later requests do not', async () => {
  await start();
  const { socket, received } = await send(gets(3));
  const closed = once(socket, 'close');
  await expect.poll(urls).toEqual(['/0']);
  answer(0);
  await expect.poll(urls).toEqual(['/0', '/1']);
  server.close();
  answer(1);
  await expect.poll(urls).toEqual(['/0', '/1', '/2']); // request 2 is the last request in the queue
  socket.write(gets(3, 3));
  await expect.poll(() => began[2]?.response.getHeader('connection')).toBe('close');
  answer(2);
  await closed;
  expect(parseResponses(received()).map(isClosing)).toEqual([false, false, true]);
});
