import { beforeAll, describe, expect, test } from 'vitest';
import { SAMPLES, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const REQUEST_ID = /^req-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const JSON_TYPE = 'application/json; charset=UTF-8';

interface Request {
  readonly status: number;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** A request for each status whose response has a body. */
const REQUESTS: readonly Request[] = [
  ...SAMPLES.flatMap(({ collection, body }) => {
    const path = `/v2/${collection}`;
    return [
      { status: 200, method: 'HEAD', path },
      { status: 201, method: 'POST', path, body: body('made') },
      { status: 409, method: 'POST', path, body: body('taken') },
    ];
  }),
  { status: 400, method: 'POST', path: '/v2/tlds', body: '{' },
  { status: 400, method: 'GET', path: `/v2/tlds/foo` },
  { status: 401, method: 'GET', path: '/v2/tlds', headers: { 'x-auth-token': 'unknown-token' } },
  { status: 404, method: 'GET', path: '/v2/nosuch' },
  { status: 404, method: 'GET', path: '/nosuch' },
  { status: 405, method: 'PUT', path: '/v2/tlds' },
  { status: 413, method: 'POST', path: '/v2/tlds', body: 'x'.repeat(120_000) },
  { status: 415, method: 'POST', path: '/v2/tlds', headers: { 'content-type': 'text/plain' } },
  { status: 200, method: 'GET', path: '/' },
];

describe('the headers of a response', () => {
  const header = 'x-openstack-request-id';
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
    for (const { collection, body } of SAMPLES)
      await service.post(`/v2/${collection}`, body('taken'));
  });

  test.each(REQUESTS)(
    '$status with a request id, a date, a length and the media type of JSON: $method $path',
    async ({ status, method, path, body, headers }) => {
      const response = await service.call(method, path, body, headers);
      expect(response.status, response.text).toBe(status);
      expect(response.headers.get(header)).toMatch(REQUEST_ID);
      expect(response.headers.get('content-type')).toBe(JSON_TYPE);
      expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
      expect(Date.parse(response.headers.get('date') ?? '')).not.toBeNaN();
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.has('etag')).toBe(false);
      expect(response.headers.has('vary')).toBe(false);
    },
  );

  test('every request has a unique request id, and its log line contains this id', async () => {
    const responses = [
      await service.get('/v2/tlds'),
      await service.get('/v2/nosuch'),
      await service.with('unknown-token').get('/v2/tlds'),
    ];
    const ids = responses.map(({ headers }) => headers.get(header));
    expect(new Set(ids).size).toBe(3);
    const lines = service.log
      .map((line) => JSON.parse(line))
      .filter(({ requestId }) => ids.includes(requestId));
    expect(lines.map(({ route, status, caller }) => [route, status, caller])).toEqual([
      ['/v2/tlds', 200, 'admin'],
      ['(unknown)', 404, 'admin'],
      ['/v2/tlds', 401, undefined],
    ]);
  });

  test('a request id from the caller is logged as globalRequestId, and is not in the response', async () => {
    const given = `req-${UNKNOWN_ID}`;
    const response = await service.get('/v2/tlds', { [header]: given });
    expect(response.headers.get(header)).not.toBe(given);
    expect(response.text).not.toContain(given);
    const line = service.log
      .map((text) => JSON.parse(text))
      .find(({ requestId }) => requestId === response.headers.get(header));
    expect(line).toMatchObject({ globalRequestId: given });
  });

  test('an invalid request id is neither logged nor returned', async () => {
    const from = service.log.length;
    for (const given of ['req-1', UNKNOWN_ID, `req-${UNKNOWN_ID}x`, 'a'.repeat(1000)])
      expect((await service.get('/v2/tlds', { [header]: given })).status).toBe(200);
    expect(service.log.slice(from).join('')).not.toContain('globalRequestId');
  });
});
