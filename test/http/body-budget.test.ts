import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { expectError } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const PATH = '/v2/tlds/bulk';
const LARGE = 2_000_000;

let service: TestService;
let one: Client;
let other: Client;
let sockets: Socket[];

// One caller's share of the budget is 2 MiB, the maximum size of a list.
beforeEach(async () => {
  sockets = [];
  service = await startTestService({}, { byteLimits: { maxBodyBytesInFlight: 8 * 1024 * 1024 } });
  [one, other] = [await clientFor(service, ['admin']), await clientFor(service, ['admin'])];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
});

/** Returns a list as JSON of `LARGE` bytes. */
function largeList(): string {
  const list = { dry_run: true, tlds: [{ name: 'com', description: 'A domain' }] };
  return JSON.stringify(list).padEnd(LARGE, ' ');
}

/**
 * Sends the head of a request with a large body, but not the body. `received` returns the response
 * so far.
 */
async function begin(client: Client, framing = `Content-Length: ${LARGE}`) {
  const { hostname, port } = new URL(client.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const head = `POST ${PATH} HTTP/1.1\r\nHost: h\r\nX-Auth-Token: ${client.token}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
  socket.write(head);
  return { socket, head, received: () => received };
}

/** Waits until the service has read everything that the test has sent. */
async function settle(): Promise<void> {
  for (let count = 0; count < 3; count += 1)
    expect((await service.get('/healthcheck')).status).toBe(200);
}

test('200 for a large body of another caller while a slow upload uses the whole share of one caller', async () => {
  await begin(one);
  await settle();
  expect((await other.post(PATH, largeList())).status).toBe(200);
  expect((await service.post(PATH, largeList())).status).toBe(200);
});

test.each([`Content-Length: ${LARGE}`, 'Transfer-Encoding: chunked'])(
  '200 for a large body once an earlier slow upload of the caller has ended: %s',
  async (framing) => {
    const slow = await begin(one, framing);
    await settle();
    const waiting = one.post(PATH, largeList());
    await settle();
    const answered = await Promise.race([waiting, service.get('/healthcheck')]);
    expect(answered.text).toBe('OK');
    slow.socket.destroy();
    expect((await waiting).status).toBe(200);
  },
);

test('200 for a slow upload once it is complete, and for the uploads that waited for it', async () => {
  const slow = await begin(one);
  await settle();
  const waiting = Array.from({ length: 5 }, () => one.post(PATH, largeList()));
  slow.socket.write(largeList());
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
  expect(slow.received()).toMatch(/^HTTP\/1\.1 200 /);
});

test('503 with Retry-After for a caller with 64 waiting bodies, and 200 for other callers', async () => {
  const uploads = await Promise.all(Array.from({ length: 70 }, () => begin(one)));
  await expect
    .poll(() => uploads.filter(({ received }) => received().startsWith('HTTP/1.1 503 ')).length)
    .toBe(5);
  const refused = await one.post(PATH, largeList());
  expectError(refused, 503, 'service_unavailable');
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('connection')).toBe('close');
  expect((await other.post(PATH, largeList())).status).toBe(200);
});
