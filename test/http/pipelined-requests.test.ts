import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';
import { isClosing, parseResponses, sendBytes, statusesOf } from '../harness/wire.ts';

let service: TestService;

const headers = () => `Host: h\r\nX-Auth-Token: ${service.token}\r\n`;
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\n${headers()}${more}\r\n`;
const post = (body: string, more = '') => {
  const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `POST /v2/tlds HTTP/1.1\r\n${headers()}${length}${more}\r\n${body}`;
};

test('200 for each pipelined request, in order', async () => {
  service = await startTestService();
  const names = Array.from({ length: 60 }, (_, index) => `n${index}`);
  const text = await sendBytes(
    service.url,
    names.map((name) => get(`/v2/tlds?name=${name}`)).join('') + get('/', 'Connection: close\r\n'),
  );
  const bodies = parseResponses(text).map(({ status, body }) => [
    status,
    /name=(n\d+)/.exec(body)?.[1],
  ]);
  expect(bodies).toEqual([...names.map((name) => [200, name]), [200, undefined]]);
});

test('201 for a large body that follows another pipelined request', async () => {
  service = await startTestService();
  const bodies = Array.from(
    { length: 10 },
    (_, index) => `{"name":"large${index}"${' '.repeat(100_000)}}`,
  );
  const mixed = bodies.map((body) => get('/v2/tlds') + post(body)).join('');
  const text = await sendBytes(service.url, mixed + get('/', 'Connection: close\r\n'));
  expect(statusesOf(text)).toEqual([...bodies.flatMap(() => [200, 201]), 200]);
  expect((await service.get('/v2/tlds')).body.tlds.length).toBe(10);
});

test('100 and 201 for Expect: 100-continue in a request that follows another pipelined request', async () => {
  service = await startTestService();
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  const body = '{"name":"expected"}';
  socket.write(
    get('/v2/tlds') +
      post(body, 'Expect: 100-continue\r\nConnection: close\r\n').slice(0, -body.length),
  );
  await expect.poll(() => received).toContain('HTTP/1.1 100 Continue\r\n\r\n');
  const closed = once(socket, 'close');
  socket.write(body);
  await closed;
  expect(statusesOf(received.replace('HTTP/1.1 100 Continue\r\n\r\n', ''))).toEqual([200, 201]);
});

test('408 for an incomplete body, after the responses to earlier pipelined requests', async () => {
  service = await startTestService({ TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '1' });
  const text = await sendBytes(
    service.url,
    get('/v2/tlds').repeat(3) + post('{"name":"late"}').slice(0, -3),
  );
  expect(parseResponses(text).map((response) => [response.status, isClosing(response)])).toEqual([
    [200, false],
    [200, false],
    [200, false],
    [408, true],
  ]);
});
