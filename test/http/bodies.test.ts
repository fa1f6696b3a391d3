import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  create,
  expectError,
  itemsOf,
  problemsOf,
  SAMPLES,
  type Resource,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { sendRequest } from '../harness/wire.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

/** Descriptions and bodies that are not valid JSON. */
const NOT_JSON: readonly (readonly [string, string | Buffer])[] = [
  ['blanks', ' \n\t '],
  ['a syntax error', '{bad'],
  ['a truncated object', '{"name":"com"'],
  ['two values', '{"name":"com"} {}'],
  ['a trailing comma', '{"name":"com",}'],
  ['single quotes', "{'name':'com'}"],
  ['a comment', '{"name":"com"/* */}'],
  ['NaN', '{"name":NaN}'],
  ['Infinity', '{"name":-Infinity}'],
  ['a bare line break in a string', '{"name":"co\nm"}'],
  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], '{"name":"com"}')],
  ['UTF-16', Buffer.from('{"name":"com"}', 'utf16le')],
  ['invalid UTF-8', bytes('{"name":"com","description":"', [0xff], '"}')],
  ['a surrogate in UTF-8', bytes('{"name":"com","description":"', [0xed, 0xa0, 0x80], '"}')],
  ['an overlong NUL', bytes('{"name":"com","description":"', [0xc0, 0x80], '"}')],
  ['a repeated member', '{"name":"com","name":"org"}'],
  ['a repeated member with the same value', '{"name":"com" , "name" : "com"}'],
  ['a repeated member in different spellings', '{"name":"com","n\\u0061me":"org"}'],
  ['a repeated member in a nested object', '{"name":{"a":[{"b":1,"c":{},"b":2}]}}'],
  ['a form', 'name=com'],
  ['truncated deeply nested brackets', '['.repeat(100_000)],
];

describe.each(SAMPLES)('$collection', (sample) => {
  const path = `/v2/${sample.collection}`;
  let service: TestService;
  let resource: Resource;
  beforeAll(async () => {
    service = await startTestService();
    resource = await create(service, sample, 'kept');
  });
  afterAll(async () => expect(itemsOf(await service.get(path), sample)).toEqual([resource]));

  /** Returns the responses to a creation and an update with this body. */
  const bothTo = async (body: unknown, headers?: Record<string, string>) => [
    await service.post(path, body, headers),
    await service.patch(`${path}/${resource.id}`, body, headers),
  ];

  test.each(NOT_JSON)('400 for %s', async (_what, body) => {
    for (const response of await bothTo(body)) expectError(response, 400, 'invalid_json');
  });

  test.each(['', 'null', ' null '])('400 for the empty body %j', async (body) => {
    for (const response of await bothTo(body)) expectError(response, 400, 'empty_request_body');
  });

  test.each([
    '[]',
    '"x"',
    '5',
    'true',
    '[{"name":"com"}]',
    `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  ])('400 for a value that is not an object', async (body) => {
    for (const response of await bothTo(body))
      expect(expectError(response, 400, 'invalid_object')).toContain(`describes a ${sample.title}`);
  });

  test('400 for 15,000 nested objects', async () => {
    const deep = `${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`;
    for (const response of await bothTo(deep))
      expect(problemsOf(response)).toContain('a: additionalProperties');
    for (const response of await bothTo(`{"name":${deep}}`))
      expect(problemsOf(response)).toContain('name: type');
  });

  test('400 without quoting an invalid body', async () => {
    for (const response of await bothTo('{"secret":"aGVsbG8gd29ybGQgaGVsbG8=" "x"}'))
      expect(response.text).not.toContain('aGVsbG8');
  });

  test.each([
    'text/plain',
    'application/json-patch+json',
    'application/xml',
    'application/jsonx',
    'text/json',
    'application/x-www-form-urlencoded',
    'json',
    ';',
  ])('415 for the content type %s', async (type) => {
    for (const response of await bothTo(sample.change, { 'content-type': type }))
      expectError(response, 415, 'unsupported_content_type');
  });

  test.each(['gzip', 'GZIP', 'deflate', 'br', 'zstd', 'aes128gcm', 'identity, gzip', 'x y', '*'])(
    '415 for the content encoding %s, whatever the bytes of the body are',
    async (encoding) => {
      const change = JSON.stringify(sample.change);
      for (const sent of [Buffer.from(change), gzipSync(change)]) {
        const head = ['Host: h', `X-Auth-Token: ${service.token}`, `Content-Encoding: ${encoding}`];
        const type = ['Content-Type: application/json', `Content-Length: ${sent.length}`];
        for (const line of [
          `POST ${path} HTTP/1.1`,
          `PATCH ${path}/${resource.id} HTTP/1.1`,
          `DELETE ${path}/${resource.id} HTTP/1.1`,
        ]) {
          const response = await sendRequest(service.url, [line, ...head, ...type], sent);
          expect(JSON.parse(response.body)).toMatchObject({
            code: 415,
            type: 'unsupported_content_encoding',
          });
          expect(response.headers.get('accept-encoding')).toBe('identity');
        }
      }
      expect((await service.get(`${path}/${resource.id}`)).status).toBe(200);
    },
  );

  test('415 without a content type, even without a body', async () => {
    for (const body of ['', '{}']) {
      const head = ['Host: h', `X-Auth-Token: ${service.token}`, `Content-Length: ${body.length}`];
      for (const line of [`POST ${path} HTTP/1.1`, `PATCH ${path}/${resource.id} HTTP/1.1`]) {
        const response = await sendRequest(service.url, [line, ...head], body);
        expect(JSON.parse(response.body)).toMatchObject({
          code: 415,
          type: 'unsupported_content_type',
        });
      }
    }
  });
});

describe('accepted requests', () => {
  const [tlds] = SAMPLES;
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ TSIGIL_API_MAX_BODY_BYTES: '8388608' });
  });

  test.each([
    'application/json',
    'application/json; charset=UTF-8',
    'Application/JSON',
    'application/json;charset=latin1',
    'application/json ; x="y"',
  ])('201 for the content type %s', async (type) => {
    const name = Buffer.from(type).toString('hex').slice(-40);
    expect((await service.post('/v2/tlds', { name }, { 'content-type': type })).status).toBe(201);
  });

  test.each(['identity', 'Identity', ' identity , identity', ''])(
    '201 for the content encoding %j',
    async (encoding) => {
      const name = `encoded${Buffer.from(encoding).toString('hex').slice(0, 40)}`;
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      expect((await service.post('/v2/tlds', { name }, headers)).status).toBe(201);
    },
  );

  test('200 for a content encoding without a body', async () => {
    expect((await service.get('/v2/tlds', { 'content-encoding': 'gzip' })).status).toBe(200);
  });

  test.each(['application/json', 'text/html', 'application/xml;q=1', '*/*;q=0', 'nonsense'])(
    '200 with a JSON document for any Accept header: %s',
    async (accept) => {
      const response = await service.get('/v2/tlds', { accept });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
    },
  );

  test('201 for a chunked body', async () => {
    const head = [
      'POST /v2/tlds HTTP/1.1',
      'Host: h',
      `X-Auth-Token: ${service.token}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ];
    const response = await sendRequest(
      service.url,
      head,
      '5\r\n{"nam\r\n11\r\ne":"in-chunks"  }\r\n0\r\n\r\n',
    );
    expect([response.status, (JSON.parse(response.body) as Resource).name]).toEqual([
      201,
      'in-chunks',
    ]);
  });

  test('201 for a member name that is repeated only in other objects or in strings', async () => {
    expect(
      (
        await service.post(
          '/v2/tlds',
          '{"name":"quoted","description":"\\"name\\":{\\"name\\":\\\\"}',
        )
      ).status,
    ).toBe(201);
    expect(
      problemsOf(
        await service.post('/v2/tlds', '{"name":"x","a":{"name":1},"b":[{"name":2},{"name":3}]}'),
      ),
    ).toHaveLength(2);
  });

  test('400 for strings of about 8 MB, in plain text and in escape sequences', async () => {
    for (const text of [
      'x'.repeat(8_000_000),
      '\\\\'.repeat(4_000_000),
      '\\u0041'.repeat(1_300_000),
    ]) {
      expect(
        problemsOf(await service.post('/v2/tlds', `{"name":"x","description":"${text}"}`)),
      ).toEqual(['description: maxLength']);
    }
  });

  test('200 with list items whose members have the same order as in a single resource', async () => {
    await service.post('/v2/tlds', { name: 'ordered' });
    const [item] = (await service.get('/v2/tlds?name=ordered')).body.tlds;
    expect(Object.keys(item)).toEqual(tlds?.members);
  });
});

describe('body size limit', () => {
  const limit = 114_688;
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const sized = (size: number, name: string) =>
    `{"name":"${name}"${' '.repeat(size - `{"name":"${name}"}`.length)}}`;

  test('201 for a body of exactly the maximum size', async () => {
    expect((await service.post('/v2/tlds', sized(limit, 'largest'))).status).toBe(201);
  });

  test('413 for a body one byte above the limit, before the token is checked', async () => {
    expectError(
      await service.post('/v2/tlds', sized(limit + 1, 'larger')),
      413,
      'request_too_large',
    );
    expectError(
      await service.with('unknown-token').post('/v2/tlds', sized(limit + 1, 'larger')),
      413,
      'request_too_large',
    );
    expectError(
      await service.call('PUT', '/v2/nosuch', sized(limit + 1, 'larger')),
      413,
      'request_too_large',
    );
    expect((await service.get('/v2/tlds?name=larger')).body.tlds).toEqual([]);
  });

  test('413 for a chunked body above the limit', async () => {
    const head = [
      'POST /v2/tlds HTTP/1.1',
      'Host: h',
      `X-Auth-Token: ${service.token}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ];
    const size = limit + 1;
    const response = await sendRequest(
      service.url,
      head,
      `${size.toString(16)}\r\n${sized(size, 'chunked')}\r\n0\r\n\r\n`,
    );
    expect(JSON.parse(response.body)).toMatchObject({ code: 413, type: 'request_too_large' });
    expect((await service.get('/v2/tlds?name=chunked')).body.tlds).toEqual([]);
  });
});
