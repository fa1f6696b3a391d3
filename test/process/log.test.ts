import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { endOfTurn } from '../harness/client.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

type Line = Record<string, unknown>;

const folder = temporaryFolder();
const POOL_ID = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const SECRET = 'c2VjcmV0IG9mIHRoZSB0ZXN0IG9mIHRoZSBsb2c=';
let service: ServiceProcess;
let responses: Record<string, Awaited<ReturnType<ServiceProcess['get']>>>;
let madeToken: string;
let lines: Line[];

const key = (name: string, algorithm = 'hmac-sha256') => ({
  name,
  algorithm,
  secret: SECRET,
  scope: 'POOL',
  resource_id: POOL_ID,
});

beforeAll(async () => {
  service = await startServiceProcess(folder);
  const { status, body } = await service.post('/v2/tokens', {
    name: 'reader of logs',
    roles: ['admin'],
    project_id: 'p1',
  });
  expect(status).toBe(201);
  madeToken = body.token as string;
  const caller = service.with(madeToken);
  const created = await caller.post('/v2/tsigkeys', key('plain'));
  const id = created.body.id as string;
  const globalRequestId = `req-${randomUUID()}`;
  const bearer = await fetch(`${service.url}/v2/tlds`, {
    headers: { authorization: `Bearer ${madeToken}` },
  });
  responses = {
    bearer: {
      status: bearer.status,
      headers: bearer.headers,
      text: await bearer.text(),
      body: undefined,
    },
    created,
    got: await caller.get(`/v2/tsigkeys/${id}`, { 'x-openstack-request-id': globalRequestId }),
    forged: await caller.get(`/v2/tsigkeys/${id}`, { 'x-openstack-request-id': 'forged "line"' }),
    listed: await caller.get('/v2/tsigkeys?name=a-name-in-the-query&limit=3'),
    nothing: await caller.get('/v2/nosuch/path-in-the-url'),
    stranger: await service.with('a-token-that-does-not-exist').get('/v2/tlds'),
    tokenAsId: await caller.get(`/v2/tokens/${madeToken}`),
    tokenAsPath: await caller.get(`/v2/${madeToken}`),
    weak: await caller.post('/v2/tsigkeys', key('weak', 'hmac-md5')),
    duplicate: await caller.post('/v2/tsigkeys', key('plain')),
    broken: await caller.post('/v2/tsigkeys', `{"secret": "${SECRET}`),
    refused: await caller.post('/v2/tsigkeys', { ...key('more'), secret: `${SECRET}\n` }),
  };
  expect(await service.stop('SIGTERM')).toBe(0);
  lines = service
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
});

/** Returns the log line of the request with the response `name`. */
function lineOf(name: string): Line {
  const id = responses[name]?.headers.get('x-openstack-request-id');
  const found = lines.filter(({ requestId, msg }) => requestId === id && msg === 'request');
  expect(found, name).toHaveLength(1);
  return found[0] ?? {};
}

test('every request has one log line, with its id, caller, route, status and duration', () => {
  expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(
    Object.keys(responses).length + 1,
  );
  for (const name of Object.keys(responses))
    expect(lineOf(name).status).toBe(responses[name]?.status);
  expect(lineOf('got')).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    requestId: expect.stringMatching(/^req-/) as string,
    globalRequestId: expect.stringMatching(/^req-/) as string,
    method: 'GET',
    route: '/v2/tsigkeys/:id',
    resource: responses.created?.body.id as string,
    status: 200,
    durationMs: expect.any(Number) as number,
    caller: 'reader of logs',
    callerId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    projectId: 'p1',
    address: '127.0.0.1',
    msg: 'request',
  });
  expect(lineOf('bearer').caller).toBe('reader of logs');
});

test('the log has no name for a caller without a valid token, and no invalid request id', () => {
  expect(lineOf('stranger')).not.toHaveProperty('caller');
  expect(lineOf('forged')).not.toHaveProperty('globalRequestId');
});

test('the log reports the start with the URL and the version, the stop with its signal, and the end', () => {
  expect(lines.slice(0, 2)).toMatchObject([
    { level: 'info', msg: expect.stringContaining('master key') as string },
    {
      level: 'info',
      msg: 'listening',
      url: service.url,
      version: expect.any(String) as string,
      node: process.version,
    },
  ]);
  // A service that has run for a minute has also logged a checkpoint before.
  const checkpoint = lines.findLast(({ msg }) => msg === 'audit checkpoint');
  expect(checkpoint?.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(lines.filter(({ msg }) => msg === 'stopping' || msg === 'stopped')).toMatchObject([
    { msg: 'stopping', reason: 'SIGTERM' },
    { msg: 'stopped' },
  ]);
  expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
});

test('the log contains no query, path, token or secret from callers', () => {
  expect(responses.refused?.status).toBe(400);
  for (const sent of [
    'a-name-in-the-query',
    'limit=3',
    'path-in-the-url',
    'forged',
    'a-token-that-does-not-exist',
    madeToken,
    service.token,
    SECRET,
  ]) {
    expect(service.output(), sent).not.toContain(sent);
  }
});

test('every stored creation has a log line, even if the client disconnects before the response', async () => {
  const home = temporaryFolder();
  const first = await startServiceProcess(home);
  for (let count = 0; count < 60; count += 1)
    await sendAndLeave(first, JSON.stringify({ name: `left-${count}` }), count);
  expect(await first.stop('SIGTERM')).toBe(0);
  const lines = first
    .output()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as Line);
  const second = await startServiceProcess(home);
  const { body } = await second.get('/v2/tlds?limit=100');
  await second.stop('SIGKILL');

  expect(lines.filter(({ status }) => status === 201)).toHaveLength(
    (body.tlds as unknown[]).length,
  );
});

/** Sends a creation. Closes or resets the connection up to nine turns of the event loop later. */
async function sendAndLeave(to: ServiceProcess, body: string, count: number): Promise<void> {
  const { hostname, port } = new URL(to.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = [
    'POST /v2/tlds HTTP/1.1',
    'Host: tsigil.example',
    `X-Auth-Token: ${to.token}`,
    'Content-Type: application/json',
  ];
  await new Promise((resolve) =>
    socket.write(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`, resolve),
  );
  for (let turn = 0; turn < (count >> 1) % 10; turn += 1) await endOfTurn();
  if (count % 2 === 0) socket.resetAndDestroy();
  else socket.destroy();
  await once(socket, 'close');
}
