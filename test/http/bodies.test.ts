import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  create,
  expectError,
  itemsOf,
  problemsOf,
  TSIGKEYS,
  type Resource,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { sendRequest } from '../harness/wire.ts';

// test/http/any-request.test.ts sends arbitrary bodies.

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

/** Descriptions and bodies that are not valid JSON. */
const NOT_JSON: readonly (readonly [string, string | Buffer])[] = [
  ['blanks', ' \n\t '],
  ['a truncated object', '{"name":"com"'],
  ['two values', '{"name":"com"} {}'],
  ['a trailing comma', '{"name":"com",}'],
  ['a comment', '{"name":"com"/* */}'],
  ['Infinity', '{"name":-Infinity}'],
  ['a bare line break in a string', '{"name":"co\nm"}'],
  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], '{"name":"com"}')],
  ['UTF-16', Buffer.from('{"name":"com"}', 'utf16le')],
  ['invalid UTF-8', bytes('{"name":"com","description":"', [0xff], '"}')],
  ['a surrogate in UTF-8', bytes('{"name":"com","description":"', [0xed, 0xa0, 0x80], '"}')],
  ['an overlong NUL', bytes('{"name":"com","description":"', [0xc0, 0x80], '"}')],
  ['a repeated member with the same value', '{"name":"com" , "name" : "com"}'],
  ['a repeated member in different spellings', '{"name":"com","n\\u0061me":"org"}'],
  ['a repeated member in a nested object', '{"name":{"a":[{"b":1,"c":{},"b":2}]}}'],
  ['truncated deeply nested brackets', '['.repeat(100_000)],
];

describe('refused bodies', () => {
  const path = '/v2/tsigkeys';
  let service: TestService;
  let resource: Resource;
  beforeAll(async () => {
    service = await startTestService();
    resource = await create(service, TSIGKEYS, 'kept');
  });
  afterAll(async () => expect(itemsOf(await service.get(path), TSIGKEYS)).toEqual([resource]));

  /** Returns the responses to a creation and an update with this body. */
  const bothTo = async (body: unknown, headers?: Record<string, string>) => [
    await service.post(path, body, headers),
    await service.patch(`${path}/${resource.id}`, body, headers),
  ];

  test.each(NOT_JSON)('400 for %s', async (_what, body) => {
    for (const response of await bothTo(body)) expectError(response, 400, 'invalid_json');
  });

  test('400 for an empty body, a value that is not an object, and nested objects', async () => {
    for (const body of ['', 'null', ' null '])
      for (const response of await bothTo(body)) expectError(response, 400, 'empty_request_body');
    for (const body of ['[]', '"x"', '5', `${'['.repeat(50_000)}${']'.repeat(50_000)}`])
      for (const response of await bothTo(body))
        expect(expectError(response, 400, 'invalid_object')).toContain('describes a TsigKey');
    const deep = `${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`;
    for (const response of await bothTo(`{"name":${deep}}`))
      expect(problemsOf(response)).toContain('name: type');
  });

  test('400 without quoting an invalid body', async () => {
    for (const response of await bothTo('{"secret":"aGVsbG8gd29ybGQgaGVsbG8=" "x"}'))
      expect(response.text).not.toContain('aGVsbG8');
  });

  test('415 for another content type, and without one even if there is no body', async () => {
    for (const type of ['text/plain', 'application/json-patch+json', 'application/jsonx', ';'])
      for (const response of await bothTo(TSIGKEYS.change, { 'content-type': type }))
        expectError(response, 415, 'unsupported_content_type');
    for (const body of ['', '{}']) {
      const head = ['Host: h', `X-Auth-Token: ${service.token}`, `Content-Length: ${body.length}`];
      const response = await sendRequest(service.url, [`POST ${path} HTTP/1.1`, ...head], body);
      expect(JSON.parse(response.body)).toMatchObject({ type: 'unsupported_content_type' });
    }
  });

  test.each(['gzip', 'GZIP', 'br', 'identity, gzip', 'x y', '*'])(
    '415 for the content encoding %s, whatever the bytes of the body are',
    async (encoding) => {
      const change = JSON.stringify(TSIGKEYS.change);
      for (const sent of [Buffer.from(change), gzipSync(change)])
        for (const line of [`POST ${path}`, `PATCH ${path}/${resource.id}`]) {
          const response = await sendRequest(
            service.url,
            [
              `${line} HTTP/1.1`,
              'Host: h',
              `X-Auth-Token: ${service.token}`,
              `Content-Encoding: ${encoding}`,
              'Content-Type: application/json',
              `Content-Length: ${sent.length}`,
            ],
            sent,
          );
          expect(JSON.parse(response.body)).toMatchObject({ type: 'unsupported_content_encoding' });
          expect(response.headers.get('accept-encoding')).toBe('identity');
        }
    },
  );
});

describe('accepted requests', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ TSIGIL_API_MAX_BODY_BYTES: '8388608' });
  });

  let count = 0;
  const created = async (headers: Record<string, string>) =>
    (await service.post('/v2/tlds', { name: `accepted-${(count += 1)}` }, headers)).status;

  test('201 for any spelling of JSON as the content type, and for the encoding identity', async () => {
    for (const type of [
      'application/json; charset=UTF-8',
      'Application/JSON',
      'application/json;charset=latin1',
      'application/json ; x="y"',
    ])
      expect(await created({ 'content-type': type })).toBe(201);
    for (const encoding of ['Identity', ' identity , identity', ''])
      expect(await created({ 'content-encoding': encoding })).toBe(201);
    expect((await service.get('/v2/tlds', { 'content-encoding': 'gzip' })).status).toBe(200);
  });

  test('200 with a JSON document for any Accept header', async () => {
    for (const accept of ['text/html', '*/*;q=0', 'nonsense']) {
      const { status, headers } = await service.get('/v2/tlds', { accept });
      expect([status, headers.get('content-type')]).toEqual([
        200,
        'application/json; charset=UTF-8',
      ]);
    }
  });

  test('201 for a member name that is repeated only in other objects or in strings', async () => {
    const quoted = '{"name":"quoted","description":"\\"name\\":{\\"name\\":\\\\"}';
    expect((await service.post('/v2/tlds', quoted)).status).toBe(201);
    const nested = '{"name":"x","a":{"name":1},"b":[{"name":2},{"name":3}]}';
    expect(problemsOf(await service.post('/v2/tlds', nested))).toHaveLength(2);
  });

  test('400 for strings of about 8 MB, in plain text and in escape sequences', async () => {
    for (const text of ['x'.repeat(8_000_000), '\\u0041'.repeat(1_300_000)]) {
      const body = `{"name":"x","description":"${text}"}`;
      expect(problemsOf(await service.post('/v2/tlds', body))).toEqual(['description: maxLength']);
    }
  });
});

describe('the limit on the size of a body', () => {
  const LIMIT = 114_688;
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const sized = (size: number, name: string) => `{"name":"${name}"`.padEnd(size - 1) + '}';
  const expectNone = async (name: string) =>
    expect((await service.get(`/v2/tlds?name=${name}`)).body.tlds).toEqual([]);

  test('201 for a body of exactly the maximum size, and 413 above it, before the token is checked', async () => {
    expect((await service.post('/v2/tlds', sized(LIMIT, 'largest'))).status).toBe(201);
    const larger = sized(LIMIT + 1, 'larger');
    for (const response of [
      await service.post('/v2/tlds', larger),
      await service.with('unknown-token').post('/v2/tlds', larger),
      await service.call('PUT', '/v2/nosuch', larger),
    ])
      expectError(response, 413, 'request_too_large');
    await expectNone('larger');
  });

  test('413 for a chunked body above the limit', async () => {
    const head = [
      'POST /v2/tlds HTTP/1.1',
      'Host: h',
      `X-Auth-Token: ${service.token}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ];
    const size = LIMIT + 1;
    const chunk = `${size.toString(16)}\r\n${sized(size, 'chunked')}\r\n0\r\n\r\n`;
    const response = await sendRequest(service.url, head, chunk);
    expect(JSON.parse(response.body)).toMatchObject({ code: 413, type: 'request_too_large' });
    await expectNone('chunked');
  });
});
