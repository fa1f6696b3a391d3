import { beforeAll, describe, expect, test } from 'vitest';
import { ACTIONS } from '../../src/domain/actions/actions.ts';
import {
  create,
  expectError,
  SAMPLES,
  TLDS,
  UNKNOWN_ID,
  type Resource,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { parseResponse, sendBytes, sendRequest } from '../harness/wire.ts';

let service: TestService;
let tld: Resource;
beforeAll(async () => {
  service = await startTestService();
  tld = await create(service, TLDS, 'kept');
});

/** Sends a request line unchanged, with the administrator token. */
const send = (line: string, ...headers: string[]) =>
  sendRequest(service.url, [line, 'Host: h', `X-Auth-Token: ${service.token}`, ...headers]);

const JSON_TYPE = 'application/json; charset=UTF-8';

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

test.each([
  ['PUT /v2/tl%64s?x=1', 405, 'POST, GET, HEAD, OPTIONS'],
  ['PUT //v2/tlds//bulk/', 405, 'POST, OPTIONS'],
  ['PROPFIND *', 405, 'GET, HEAD, OPTIONS'],
  ['OPTIONS *', 200, 'GET, HEAD, OPTIONS'],
  ['OPTIONS /v2/tokens', 200, 'POST, GET, HEAD, OPTIONS'],
  ['PUT /v2/tlds%2Fbulk', 404, undefined],
  ['PUT /v2/:id', 404, undefined],
])('%s gets %i, the status of the equivalent path', async (line, status, allow) => {
  const response = await send(`${line} HTTP/1.1`);
  expect([response.status, response.headers.get('allow') ?? undefined]).toEqual([status, allow]);
});

describe.each(SAMPLES)('/v2/$collection', (sample) => {
  const path = `/v2/${sample.collection}`;

  test('405 with the allowed methods in Allow, and 401 without a token', async () => {
    const onItem = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH'];
    for (const [method, target, allow] of [
      ...['PUT', 'PATCH', 'DELETE', 'TRACE', 'M-SEARCH'].map(
        (method) => [method, path, ['GET', 'HEAD', 'OPTIONS', 'POST']] as const,
      ),
      ...['PUT', 'POST', 'COPY'].map((method) => [method, `${path}/foo`, onItem] as const),
    ]) {
      const { status, headers, body } = await send(`${method} ${target} HTTP/1.1`);
      expect([status, headers.get('allow')?.split(', ').toSorted()]).toEqual([405, allow]);
      expect(JSON.parse(body)).toMatchObject({
        type: 'method_not_allowed',
        message: expect.stringContaining(method) as string,
      });
    }
    expect((await service.with('unknown-token').call('PUT', path)).status).toBe(401);
  });

  test('HEAD gets the status and the headers of GET, and no body', async () => {
    const { id } = await create(service, sample, 'headed');
    for (const rest of ['', '?name=headed', `/${id}`, '/foo', `/${UNKNOWN_ID}`, '?limit=0']) {
      const [head, get] = [await service.call('HEAD', path + rest), await service.get(path + rest)];
      expect([head.status, head.text]).toEqual([get.status, '']);
      if (get.status === 200)
        for (const name of ['content-type', 'content-length'])
          expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
  });

  test('200 for a path with empty segments, also at its end', async () => {
    const { id } = await create(service, sample, 'segments');
    for (const spelling of [`${path}/${id}/`, `${path}/${id}//`, `/${path}//${id}`])
      expect((await service.get(spelling)).body.id).toBe(id);
    const { body } = await service.get(`${path}//?name=a//b`);
    expect(body.links.self).toBe(`${service.url}${path}?name=a%2F%2Fb`);
    const made = await service.post(`${path}/`, sample.body('made'));
    expect(made.headers.get('location')).toBe(`${service.url}${path}/${made.body.id}`);
  });

  test('405 for POST and 200 for GET, whatever _method and X-HTTP-Method-Override contain', async () => {
    const target = `${path}/${(await create(service, sample, 'not-overridden')).id}`;
    for (const method of ['delete', 'PATCH']) {
      expect((await service.post(`${target}?_method=${method}`, {})).status).toBe(405);
      expect((await service.get(`${target}?_method=${method}`)).status).toBe(200);
      expect((await service.get(target, { 'x-http-method-override': method })).status).toBe(200);
    }
  });

  test('2xx for any query in paths other than lists, because the service ignores the query', async () => {
    const target = `${path}/${(await create(service, sample, 'no-list')).id}`;
    const query = '?limit=0&junk=1&junk=2&name=%ff';
    expect((await service.get(target + query)).body.links.self).toBe(service.url + target);
    expect((await service.patch(target + query, {})).status).toBe(200);
    expect((await service.delete(target + query)).status).toBe(204);
    expect((await service.post(path + query, sample.body('no-list'))).status).toBe(201);
  });
});

describe('paths', () => {
  test.each(['/v2/nosuch', '/v2/TLDS', '/v2/tlds.json', '/V2/tlds'])(
    '404 for %s with a token',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE'])
        expectError(await service.call(method, path), 404, 'not_found');
    },
  );

  test('404 as JSON outside the API and 401 below /v2 without a token', async () => {
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
    for (const path of ['/v2/nosuch', '/v2/x?y', '/v2//nosuch'])
      expect((await service.with('unknown-token').get(path)).status).toBe(401);
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
    for (const path of ['/v2/tlds/%', '/v2/tlds/%zz', '/v2/tlds/%ff', '/%c0%80']) {
      const { status, headers } = await send(`GET ${path} HTTP/1.1`);
      expect([status, headers.get('x-openstack-request-id')]).toEqual([
        400,
        expect.stringMatching(/^req-/),
      ]);
    }
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
    const { status, headers, body } = await nobody.get('/');
    expect([status, headers.get('content-type')]).toEqual([200, JSON_TYPE]);
    const versions = body.versions as {
      id: string;
      status: string;
      links: { rel: string; href: string }[];
    }[];
    expect(versions.map((version) => [version.id, version.status])).toEqual([
      ['v2', 'SUPPORTED'],
      ['v2.0', 'CURRENT'],
    ]);
    for (const { links } of versions)
      expect(links).toContainEqual({ rel: 'self', href: `${service.url}/v2` });
    for (const path of ['/v2', '/v2/', '/v2?x'])
      for (const client of [nobody, service])
        expect((await client.get(path)).body).toEqual({ version: versions[1] });
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
  const expectJson = (response: string, status: number) => {
    const { status: given, body, headers } = parseResponse(response);
    expect([given, headers.get('content-type')]).toEqual([status, JSON_TYPE]);
    expect((JSON.parse(body) as { message: string }).message).not.toBe('');
  };
  const POST = 'POST /v2/tlds HTTP/1.1\r\nHost: h\r\n';
  const GET = 'GET /v2/tlds HTTP/1.1\r\nHost: h\r\n';

  test.each([
    ['an unknown HTTP method', `FOO /v2/tlds HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['a target with a blank', `GET /v2/tl ds HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the start of TLS', Buffer.from('16030100c8010000c40303', 'hex')],
    ['a header without a name', `${GET}: x\r\n\r\n`],
    ['a NUL in a header', `${GET}X: a\0b\r\n\r\n`],
    ['a folded header', `${GET}X: a\r\n b\r\n\r\n`],
    ['a Content-Length that is not a number', `${POST}Content-Length: x\r\n\r\n`],
    ['two Content-Length headers', `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    [
      'Content-Length with chunked encoding',
      `${POST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['CONNECT', `CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n`],
  ])('400 as JSON for %s', async (_what, bytes) =>
    expectJson(await sendBytes(service.url, bytes), 400),
  );

  test('400 as JSON for an invalid chunked body, and nothing changes', async () => {
    const token = `X-Auth-Token: ${service.token}\r\nContent-Type: application/json\r\n`;
    const head = `${POST}${token}Transfer-Encoding: chunked\r\n\r\n`;
    expectJson(await sendBytes(service.url, head, `e\r\n{"name":"cut"}\r\nzz\r\n`), 400);
    expect((await service.get('/v2/tlds?name=cut')).body.tlds).toEqual([]);
  });

  test('431 as JSON for headers or a request line of more than 16 KB', async () => {
    const long = 'x'.repeat(17_000);
    expectJson(await sendBytes(service.url, `${GET}X: ${long}\r\n\r\n`), 431);
    expectJson(await sendBytes(service.url, `GET /${long} HTTP/1.1\r\nHost: h\r\n\r\n`), 431);
  });

  test('2xx whatever Upgrade and Expect contain, and for GET with Content-Length: 0', async () => {
    for (const headers of [
      ['Upgrade: websocket', 'Connection: Upgrade'],
      ['Expect: the-unexpected'],
      ['Content-Length: 0', 'Content-Type: application/json'],
    ])
      expect((await send(`GET /v2/tlds/${tld.id} HTTP/1.1`, ...headers)).status).toBe(200);
    const body = '{"name":"continued"}';
    const head = ['POST /v2/tlds HTTP/1.1', 'Host: h', `X-Auth-Token: ${service.token}`];
    const type = ['Content-Type: application/json', `Content-Length: ${body.length}`];
    const response = await sendRequest(
      service.url,
      [...head, ...type, 'Expect: 100-continue'],
      body,
    );
    expect(response.status).toBe(201);
  });

  test.each([
    ['head', 'POST /v2/tlds HTTP/1.1\r\nHo'],
    ['body', `${POST}Content-Length: 20\r\nX-Auth-Token: TOKEN\r\n\r\n{"name":`],
  ])('408 as JSON if the %s is incomplete after requestTimeoutSeconds', async (_part, text) => {
    const hurried = await startTestService({ TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '1' });
    const sent = text
      .replace('TOKEN', hurried.token)
      .replace('Content-L', 'Content-Type: application/json\r\nContent-L');
    expectJson(await sendBytes(hurried.url, sent), 408);
    expect((await hurried.get('/v2/tlds')).body.tlds).toEqual([]);
  });
});
