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
const kept = async () => expect((await service.get(`/v2/tlds/${tld.id}`)).body).toEqual(tld);

describe('the path of an action that looks like the path of an item', () => {
  const paths = ACTIONS.flatMap(({ path, type }) =>
    path.split('/').length === 4 &&
    path.startsWith(`/v2/${type.collection}/`) &&
    !path.endsWith('/{id}')
      ? [{ path, type }]
      : [],
  );

  test.each(paths)(
    '400 for GET, PATCH and DELETE of $path, because the last segment is not a valid id',
    async (action) => {
      const { path, type } = action;
      const word = path.split('/').at(-1);
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const message = expectError(
          await service.call(method, path, undefined),
          400,
          'invalid_uuid',
        );
        expect(message).toBe(`Invalid UUID ${type.noun}_id: ${word}`);
      }
      expect((await service.call('HEAD', path)).status).toBe(400);
      const put = await service.call('PUT', path);
      expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    },
  );
});

test.each([
  ['PUT /v2/tl%64s?x=1', 405, 'POST, GET, HEAD, OPTIONS'],
  ['PUT //v2/tlds//bulk/', 405, 'POST, OPTIONS'],
  ['PROPFIND *', 405, 'GET, HEAD, OPTIONS'],
  ['OPTIONS *', 200, 'GET, HEAD, OPTIONS'],
  ['PUT /v2/tlds%2Fbulk', 404, undefined],
  ['PUT /v2/:id', 404, undefined],
])('%s gets %i, the status of the equivalent path', async (line, status, allow) => {
  const response = await send(`${line} HTTP/1.1`);
  expect([response.status, response.headers.get('allow') ?? undefined]).toEqual([status, allow]);
});

describe.each(SAMPLES)('/v2/$collection', (sample) => {
  const path = `/v2/${sample.collection}`;
  const onCollection = 'POST, GET, HEAD, OPTIONS';
  const onItem = 'GET, HEAD, PATCH, DELETE, OPTIONS';

  test.each([
    ...['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'LOCK', 'M-SEARCH'].map((method) => [
      method,
      path,
      onCollection,
    ]),
    ...['PUT', 'POST', 'TRACE', 'COPY'].map((method) => [method, `${path}/${UNKNOWN_ID}`, onItem]),
    ['PUT', `${path}/foo`, onItem],
  ])('405 for %s %s, with the allowed methods in Allow', async (method, target, allow) => {
    const response = await send(`${method} ${target} HTTP/1.1`);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')?.split(', ').toSorted()).toEqual(
      allow.split(', ').toSorted(),
    );
    expect(JSON.parse(response.body)).toMatchObject({
      code: 405,
      type: 'method_not_allowed',
      message: expect.stringContaining(method) as string,
    });
  });

  test('401, not 405, without a token', async () => {
    expect((await service.with('unknown-token').call('PUT', path)).status).toBe(401);
  });

  test('200 for HEAD with the headers of GET and no body', async () => {
    const { id } = await create(service, sample, 'headed');
    for (const target of [path, `${path}?name=headed`, `${path}/${id}`]) {
      const [head, get] = [await service.call('HEAD', target), await service.get(target)];
      expect([head.status, head.text]).toEqual([200, '']);
      for (const name of ['content-type', 'content-length'])
        expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
  });

  test.each([
    ['/foo', 400],
    [`/${UNKNOWN_ID}`, 404],
    ['?limit=0', 400],
  ])('HEAD for %s gets the status of GET: %d', async (rest, status) => {
    const response = await service.call('HEAD', path + rest);
    expect([response.status, response.text]).toEqual([status, '']);
  });

  test.each(['/', '//', '///'])('200 for a path that ends in %s', async (slashes) => {
    const { id } = await create(service, sample, `slashes-${slashes.length}`);
    expect((await service.get(`${path}/${id}${slashes}`)).body.id).toBe(id);
    const { body } = await service.get(`${path}${slashes}?name=none`);
    expect(body).toEqual({
      [sample.collection]: [],
      links: { self: `${service.url}${path}?name=none` },
    });
    const made = await service.post(path + slashes, sample.body(`made-${slashes.length}`));
    expect(made.headers.get('location')).toBe(`${service.url}${path}/${made.body.id}`);
  });

  test('200 for a path with empty segments', async () => {
    const { id } = await create(service, sample, 'empty-segments');
    expect((await service.get(`/${path}//${id}`)).body.id).toBe(id);
    expect((await service.get(`/v2/${path.slice('/v2'.length)}?name=a//b`)).body.links.self).toBe(
      `${service.url}${path}?name=a%2F%2Fb`,
    );
  });

  test('405 for POST and 200 for GET, whatever _method and X-HTTP-Method-Override contain', async () => {
    const { id } = await create(service, sample, 'not-overridden');
    const target = `${path}/${id}`;
    for (const method of ['delete', 'DELETE', 'patch']) {
      expect((await service.post(`${target}?_method=${method}`, {})).status).toBe(405);
      expect((await service.get(`${target}?_method=${method}`)).status).toBe(200);
      expect((await service.get(target, { 'x-http-method-override': method })).status).toBe(200);
      expectError(await service.get(`${path}?_method=${method}`), 400, 'bad_request');
    }
  });

  test('2xx for any query in paths other than lists, because the service ignores the query', async () => {
    const { id } = await create(service, sample, 'no-list');
    const query = '?limit=0&junk=1&junk=2&name=%ff';
    expect((await service.get(`${path}/${id}${query}`)).body.links.self).toBe(
      `${service.url}${path}/${id}`,
    );
    expect((await service.patch(`${path}/${id}${query}`, {})).status).toBe(200);
    expect((await service.delete(`${path}/${id}${query}`)).status).toBe(204);
    expect((await service.post(`${path}${query}`, sample.body('no-list'))).status).toBe(201);
  });
});

describe('paths', () => {
  test.each([
    '/v2/nosuch',
    '/v2/tld',
    '/v2/TLDS',
    '/v2/tlds.json',
    '/v2/tsigkeys.json',
    '/V2/tlds',
  ])('404 for %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE'])
      expectError(await service.call(method, path), 404, 'not_found');
  });

  test.each([
    '/v1',
    '/v3/tlds',
    '/v2.0/tlds',
    '/nosuch',
    '/v20',
    '/favicon.ico',
    '/nosuch/../v2/tlds',
    '/%2e%2e/',
  ])('404 as JSON for a path outside the API, even without a token: %s', async (path) => {
    const response = await sendRequest(service.url, [`GET ${path} HTTP/1.1`, 'Host: h']);
    expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
    expect([response.status, JSON.parse(response.body)]).toMatchObject([
      404,
      { code: 404, type: 'not_found', message: expect.any(String) as string },
    ]);
  });

  test('401 for unknown paths below /v2 without a token', async () => {
    for (const path of ['/v2/nosuch', '/v2/x?y', '/v2//nosuch', '/v2/tlds.json'])
      expect((await service.with('unknown-token').get(path)).status).toBe(401);
  });

  test.each([`/%762/%74lds`, `http://h/v2/tlds`, 'HTTP://other:1/v2/tlds/', 'https://h/v2/tlds'])(
    '200 for %s, as for /v2/tlds',
    async (target) => {
      const response = await send(`GET ${target} HTTP/1.1`);
      expect([response.status, (JSON.parse(response.body) as { links: object }).links]).toEqual([
        200,
        { self: 'http://h/v2/tlds' },
      ]);
      expect((await sendRequest(service.url, [`GET ${target} HTTP/1.1`, 'Host: h'])).status).toBe(
        401,
      );
    },
  );

  test('200 for a request target without a path', async () => {
    expect((await sendRequest(service.url, ['GET http://h HTTP/1.1', 'Host: h'])).body).toContain(
      '"versions"',
    );
    expect((await sendRequest(service.url, ['GET http://h?x HTTP/1.1', 'Host: h'])).body).toContain(
      '"versions"',
    );
  });

  test.each(['/v2/tlds/%', '/v2/tlds/%zz', '/v2/tlds/%ff', '/%c0%80'])(
    '400 for a path with invalid percent-encoding: %s',
    async (path) => {
      const response = await send(`GET ${path} HTTP/1.1`);
      expect(JSON.parse(response.body)).toMatchObject({
        code: 400,
        message: expect.any(String) as string,
      });
      expect(response.headers.get('x-openstack-request-id')).toMatch(/^req-/);
    },
  );
});

describe('OPTIONS', () => {
  test.each(['/v2/tlds', `/v2/tlds/${UNKNOWN_ID}`, '/v2/nosuch', '/v2', '/', '/nosuch'])(
    '200 without a body for %s, without a token',
    async (path) => {
      const response = await service.with('unknown-token').call('OPTIONS', path);
      expect([response.status, response.text, response.headers.get('content-length')]).toEqual([
        200,
        '',
        '0',
      ]);
    },
  );

  test('200 with the methods of the path in Allow', async () => {
    expect(
      (await service.call('OPTIONS', '/v2/tokens')).headers.get('allow')?.split(', ').toSorted(),
    ).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
  });

  test('200 for the target *', async () => {
    expect((await send('OPTIONS * HTTP/1.1')).status).toBe(200);
  });
});

describe('without a token', () => {
  test('200 for the version document, for GET and HEAD', async () => {
    const response = await service.with('unknown-token').get('/');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
    const entries = response.body.versions as {
      id: string;
      status: string;
      links: { rel: string; href: string }[];
    }[];
    expect(entries.map(({ id, status }) => [id, status])).toEqual([
      ['v2', 'SUPPORTED'],
      ['v2.0', 'CURRENT'],
    ]);
    for (const { links } of entries)
      expect(links).toContainEqual({ rel: 'self', href: `${service.url}/v2` });
    const head = await service.with('unknown-token').call('HEAD', '/');
    expect([head.status, head.text]).toEqual([200, '']);
  });

  test('200 for the self link of every version, with that version', async () => {
    const nobody = service.with('unknown-token');
    const { versions } = (await nobody.get('/')).body as {
      versions: { id: string; links: { rel: string; href: string }[] }[];
    };
    const current = versions.find(({ id }) => id === 'v2.0');
    for (const { links } of versions) {
      const { href = '' } = links.find(({ rel }) => rel === 'self') ?? {};
      for (const path of ['', '/', '//', '?x'].map((end) => href.slice(service.url.length) + end))
        for (const client of [nobody, service]) {
          const { status, headers, body } = await client.get(path);
          expect([status, headers.get('content-type'), body]).toEqual([
            200,
            'application/json; charset=UTF-8',
            { version: current },
          ]);
        }
    }
    const head = await nobody.call('HEAD', '/v2');
    expect([head.status, head.text]).toEqual([200, '']);
  });

  test.each(['/healthcheck', '/readyz'])('200 with the body OK for %s', async (path) => {
    const response = await service.with('unknown-token').get(path);
    expect([response.status, response.text, response.headers.get('content-type')]).toEqual([
      200,
      'OK',
      'text/plain; charset=UTF-8',
    ]);
  });

  test('405 for POST on paths that need no token', async () => {
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
    expect(given).toBe(status);
    expect(headers.get('content-type')).toBe('application/json; charset=UTF-8');
    expect((JSON.parse(body) as { message: string }).message).not.toBe('');
  };

  test.each([
    ['an unknown HTTP method', `FOO /v2/tlds HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['a target with a blank', `GET /v2/tl ds HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the start of TLS', Buffer.from('16030100c8010000c40303', 'hex')],
    ['a header without a name', 'GET /v2/tlds HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n'],
    ['a NUL in a header', 'GET /v2/tlds HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n'],
    ['a folded header', 'GET /v2/tlds HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n'],
    [
      'a Content-Length that is not a number',
      'POST /v2/tlds HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n',
    ],
    [
      'two Content-Length headers',
      'POST /v2/tlds HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
    [
      'Content-Length with chunked encoding',
      'POST /v2/tlds HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['CONNECT', `CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n`],
  ])('400 as JSON for %s', async (_what, bytes) =>
    expectJson(await sendBytes(service.url, bytes), 400),
  );

  test('400 as JSON for an invalid chunked body, and nothing changes', async () => {
    const head = `POST /v2/tlds HTTP/1.1\r\nHost: h\r\nX-Auth-Token: ${service.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expectJson(await sendBytes(service.url, head, `e\r\n{"name":"cut"}\r\nzz\r\n`), 400);
    expect((await service.get('/v2/tlds?name=cut')).body.tlds).toEqual([]);
  });

  test('431 as JSON for headers or a request line of more than 16 KB', async () => {
    expectJson(
      await sendBytes(
        service.url,
        `GET /v2/tlds HTTP/1.1\r\nHost: h\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
      ),
      431,
    );
    expectJson(
      await sendBytes(service.url, `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: h\r\n\r\n`),
      431,
    );
  });

  test('200 for an unsupported Upgrade or Expect header, because the service ignores the header', async () => {
    expect(
      (await send(`GET /v2/tlds/${tld.id} HTTP/1.1`, 'Upgrade: websocket', 'Connection: Upgrade'))
        .status,
    ).toBe(200);
    const response = await send(`GET /v2/tlds/${tld.id} HTTP/1.1`, 'Expect: the-unexpected');
    expect(response.status).toBe(200);
    expect(response.headers.get('x-openstack-request-id')).toMatch(/^req-/);
  });

  test('201 after 100 Continue', async () => {
    const body = '{"name":"continued"}';
    const head = [
      'POST /v2/tlds HTTP/1.1',
      'Host: h',
      `X-Auth-Token: ${service.token}`,
      'Content-Type: application/json',
    ];
    expect(
      (
        await sendRequest(
          service.url,
          [...head, `Content-Length: ${body.length}`, 'Expect: 100-continue'],
          body,
        )
      ).status,
    ).toBe(201);
  });

  test('200 for GET with Content-Length: 0', async () => {
    expect(
      (
        await send(
          `GET /v2/tlds/${tld.id} HTTP/1.1`,
          'Content-Length: 0',
          'Content-Type: application/json',
        )
      ).status,
    ).toBe(200);
    await kept();
  });
});

describe('slow requests', () => {
  test.each([
    ['head', 'POST /v2/tlds HTTP/1.1\r\nHo'],
    [
      'body',
      'POST /v2/tlds HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 20\r\nX-Auth-Token: TOKEN\r\n\r\n{"name":',
    ],
  ])('408 as JSON if the %s is incomplete after requestTimeoutSeconds', async (_part, text) => {
    const hurried = await startTestService({ TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '1' });
    const response = parseResponse(
      await sendBytes(hurried.url, text.replace('TOKEN', hurried.token)),
    );
    expect(JSON.parse(response.body)).toMatchObject({ code: 408, type: 'request_timeout' });
    expect((await hurried.get('/v2/tlds')).body.tlds).toEqual([]);
  });
});
