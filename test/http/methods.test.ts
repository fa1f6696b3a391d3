import { beforeAll, describe, expect, test } from 'vitest';
import { ACTIONS } from '../../src/actions.ts';
import { create, expectError, TLDS, UNKNOWN_ID, type Resource } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { parseResponse, sendBytes, sendRequest } from '../harness/wire.ts';

// test/http/any-request.test.ts sends any bytes. This file expects the statuses of certain requests.

const JSON_TYPE = 'application/json; charset=UTF-8';
const PATH = '/v2/tlds';

let service: TestService;
let tld: Resource;
beforeAll(async () => {
  service = await startTestService();
  tld = await create(service, TLDS, 'kept');
});

/** Sends a request line unchanged, with the administrator token. */
const send = (line: string, ...headers: string[]) =>
  sendRequest(service.url, [line, 'Host: h', `X-Auth-Token: ${service.token}`, ...headers]);

const ACTION_PATHS = ACTIONS.flatMap(({ path, type }) =>
  path.split('/').length === 4 &&
  path.startsWith(`/v2/${type.collection}/`) &&
  !path.endsWith('/{id}')
    ? [{ path, type }]
    : [],
);

test.each(ACTION_PATHS)(
  '400 for GET, PATCH and DELETE of $path, because the last segment is not a valid id',
  async ({ path, type }) => {
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect(expectError(await service.call(method, path), 400, 'invalid_uuid')).toBe(
        `Invalid UUID ${type.noun}_id: ${path.split('/').at(-1)}`,
      );
    const put = await service.call('PUT', path);
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  },
);

describe('methods', () => {
  const OF_LIST = 'POST, GET, HEAD, OPTIONS';
  const OF_ITEM = 'GET, HEAD, PATCH, DELETE, OPTIONS';
  test.each([
    ...['PUT', 'PATCH', 'DELETE', 'TRACE', 'M-SEARCH'].map(
      (method) => [`${method} ${PATH}`, 405, OF_LIST] as const,
    ),
    ...['PUT', 'POST', 'COPY'].map((method) => [`${method} ${PATH}/foo`, 405, OF_ITEM] as const),
    ['PUT /v2/tl%64s?x=1', 405, OF_LIST],
    ['PUT //v2/tlds//bulk/', 405, 'POST, OPTIONS'],
    ['PROPFIND *', 405, 'GET, HEAD, OPTIONS'],
    ['OPTIONS *', 200, 'GET, HEAD, OPTIONS'],
    ['PUT /v2/tlds%2Fbulk', 404, undefined],
    ['PUT /v2/:id', 404, undefined],
  ] as const)('%s gets %i, and the methods of the path in Allow', async (line, status, allow) => {
    const { headers, body, ...response } = await send(`${line} HTTP/1.1`);
    const sorted = (text?: string) => text?.split(', ').toSorted();
    expect([response.status, sorted(headers.get('allow'))]).toEqual([status, sorted(allow)]);
    if (status === 405) expect(JSON.parse(body)).toMatchObject({ type: 'method_not_allowed' });
  });

  test('HEAD gets the status and the headers of GET, and no body', async () => {
    for (const rest of ['', '?name=kept', `/${tld.id}`, '/foo', `/${UNKNOWN_ID}`, '?limit=0']) {
      const [head, get] = [await service.call('HEAD', PATH + rest), await service.get(PATH + rest)];
      expect([head.status, head.text]).toEqual([get.status, '']);
      if (get.status === 200)
        for (const name of ['content-type', 'content-length'])
          expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
  });
});

describe('paths', () => {
  test('2xx for a path with empty segments, and for any query in paths other than lists', async () => {
    for (const spelling of [`${PATH}/${tld.id}/`, `${PATH}/${tld.id}//`, `/${PATH}//${tld.id}`])
      expect((await service.get(spelling)).body.id).toBe(tld.id);
    const { body } = await service.get(`${PATH}//?name=a//b`);
    expect(body.links.self).toBe(`${service.url}${PATH}?name=a%2F%2Fb`);
    const query = '?limit=0&junk=1&junk=2&name=%ff';
    const made = await service.post(`${PATH}/${query}`, TLDS.body('made'));
    const item = `${service.url}${PATH}/${made.body.id}`;
    expect([made.status, made.headers.get('location')]).toEqual([201, item]);
    expect((await service.get(`${PATH}/${made.body.id}${query}`)).body.links.self).toBe(item);
    expect((await service.delete(`${PATH}/${made.body.id}${query}`)).status).toBe(204);
  });

  test('404 for an unknown path with a token, 401 below /v2 without one', async () => {
    for (const path of ['/v2/nosuch', '/v2/TLDS', '/v2/tlds.json', '/V2/tlds'])
      for (const method of ['GET', 'POST', 'DELETE'])
        expectError(await service.call(method, path), 404, 'not_found');
    for (const path of ['/v2/nosuch', '/v2/x?y', '/v2//nosuch'])
      expect((await service.with('unknown-token').get(path)).status).toBe(401);
    for (const path of [
      '/v1',
      '/v3/tlds',
      '/v20',
      '/favicon.ico',
      '/nosuch/../v2/tlds',
      '/%2e%2e/',
    ])
      expect(
        parseResponse(await sendBytes(service.url, `GET ${path} HTTP/1.0\r\n\r\n`)),
      ).toMatchObject({ status: 404, body: expect.stringContaining('"not_found"') as string });
  });

  test.each([`/%762/%74lds`, `http://h/v2/tlds`, 'HTTP://other:1/v2/tlds/', 'https://h/v2/tlds'])(
    '200 for %s, as for /v2/tlds, and 401 without a token',
    async (target) => {
      const response = await send(`GET ${target} HTTP/1.1`);
      expect([response.status, (JSON.parse(response.body) as { links: object }).links]).toEqual([
        200,
        { self: 'http://h/v2/tlds' },
      ]);
      const anonymous = await sendRequest(service.url, [`GET ${target} HTTP/1.1`, 'Host: h']);
      expect(anonymous.status).toBe(401);
    },
  );

  test('200 for a request target without a path, 400 for invalid percent-encoding', async () => {
    for (const target of ['http://h', 'http://h?x'])
      expect((await send(`GET ${target} HTTP/1.1`)).body).toContain('"versions"');
    for (const path of ['/v2/tlds/%', '/v2/tlds/%zz', '/v2/tlds/%ff', '/%c0%80'])
      expect((await send(`GET ${path} HTTP/1.1`)).status).toBe(400);
  });
});

describe('without a token', () => {
  test('200 without a body for OPTIONS of any path', async () => {
    for (const path of [
      '/v2/tlds',
      `/v2/tlds/${UNKNOWN_ID}`,
      '/v2/nosuch',
      '/v2',
      '/',
      '/nosuch',
    ]) {
      const response = await service.with('unknown-token').call('OPTIONS', path);
      expect([response.status, response.text]).toEqual([200, '']);
    }
  });

  test('200 for the version document, and for the self link of every version', async () => {
    const nobody = service.with('unknown-token');
    const { status, body } = await nobody.get('/');
    const links = [{ rel: 'self', href: `${service.url}/v2` }];
    expect([status, body.versions]).toMatchObject([
      200,
      [
        { id: 'v2', status: 'SUPPORTED', links: expect.arrayContaining(links) as object },
        { id: 'v2.0', status: 'CURRENT', links: expect.arrayContaining(links) as object },
      ],
    ]);
    for (const path of ['/v2', '/v2/', '/v2?x'])
      for (const client of [nobody, service])
        expect((await client.get(path)).body).toEqual({ version: body.versions[1] });
  });

  test('200 with the body OK for /healthcheck and /readyz, and 405 for POST on open paths', async () => {
    for (const path of ['/healthcheck', '/readyz']) {
      const { status, text, headers } = await service.with('unknown-token').get(path);
      const type = headers.get('content-type');
      expect([status, text, type]).toEqual([200, 'OK', 'text/plain; charset=UTF-8']);
    }
    for (const path of ['/', '/v2', '/healthcheck', '/readyz', '/metrics', '/openapi.json']) {
      const response = await service.with('unknown-token').post(path, {});
      expectError(response, 405, 'method_not_allowed');
      expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    }
  });
});

describe('unusual requests', () => {
  const POST = 'POST /v2/tlds HTTP/1.1\r\nHost: h\r\n';
  const GET = 'GET /v2/tlds HTTP/1.1\r\nHost: h\r\n';
  const long = 'x'.repeat(17_000);

  test.each([
    [400, 'an unknown HTTP method', `FOO /v2/tlds HTTP/1.1\r\nHost: h\r\n\r\n`],
    [400, 'the start of TLS', Buffer.from('16030100c8010000c40303', 'hex')],
    [400, 'a folded header', `${GET}X: a\r\n b\r\n\r\n`],
    [400, 'two Content-Length headers', `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    [
      400,
      'Content-Length with chunked encoding',
      `${POST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [400, 'CONNECT', `CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n`],
    [
      400,
      'an invalid chunked body',
      `${POST}X-Auth-Token: TOKEN\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{"name":"cut"}\r\nzz\r\n`,
    ],
    [431, 'headers of more than 16 KB', `${GET}X: ${long}\r\n\r\n`],
    [431, 'a request line of more than 16 KB', `GET /${long} HTTP/1.1\r\nHost: h\r\n\r\n`],
    [408, 'a head that is incomplete after requestTimeoutSeconds', `${POST}Ho`],
  ])('%i as JSON for %s, and nothing changes', async (expected, what, sent) => {
    const hurried = what.includes('Timeout');
    const asked = hurried
      ? await startTestService({ TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '1' })
      : service;
    const bytes = typeof sent === 'string' ? sent.replace('TOKEN', asked.token) : sent;
    const { status, body, headers } = parseResponse(await sendBytes(asked.url, bytes));
    expect([status, headers.get('content-type')]).toEqual([expected, JSON_TYPE]);
    expect((JSON.parse(body) as { message: string }).message).not.toBe('');
    expect((await asked.get('/v2/tlds?name=cut')).body.tlds).toEqual([]);
  });

  test('a header counts after thousands of others', async () => {
    const proxied = await startTestService({
      TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
      TSIGIL_METRICS_ADDRESSES: '["192.0.2.1"]',
    });
    const sendLate = (line: string, ...late: string[]) =>
      sendRequest(proxied.url, [line, 'Host: h', ...Array<string>(10_000).fill('a:'), ...late]);
    const token = `X-Auth-Token: ${proxied.token}`;
    const { id } = await create(proxied, TLDS, 'kept');
    for (const [status, line, ...late] of [
      [401, 'GET /v2/tlds'],
      [200, 'GET /v2/tlds', token],
      [412, `DELETE /v2/tlds/${id}`, token, 'If-Match: "stale"'],
      [200, 'GET /metrics', 'X-Forwarded-For: 192.0.2.1'],
      [403, 'GET /metrics', 'X-Forwarded-For: 192.0.2.2'],
    ] as const)
      expect((await sendLate(`${line} HTTP/1.1`, ...late)).status, line).toBe(status);
  });

  test('200 whatever Upgrade and Expect contain, and for GET with Content-Length: 0', async () => {
    for (const headers of [
      ['Upgrade: websocket', 'Connection: Upgrade'],
      ['Expect: the-unexpected'],
      ['Content-Length: 0', 'Content-Type: application/json'],
    ])
      expect((await send(`GET /v2/tlds/${tld.id} HTTP/1.1`, ...headers)).status).toBe(200);
  });
});
