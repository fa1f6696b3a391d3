import { METHODS } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uniqueOf } from '../../src/domain/model/resource.ts';
import { tsigkey } from '../../src/domain/resources/tsigkey.ts';
import { sendAny, expectResponse, pathOf, usual, withBody } from '../harness/any-request.ts';
import { create, SAMPLES, UNKNOWN_ID, type Resource } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { randomCases } from '../harness/sizes.ts';
import { parseResponse, sendBytes } from '../harness/wire.ts';

/** Tests requests of arbitrary bytes, whether or not they are valid. */

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '1',
    TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
  });
  for (const type of SAMPLES) await create(service, type, 'kept');
});
afterAll(() => expect(service.log.filter((text) => text.includes('"level":"error"'))).toEqual([]));

const sample = fc.constantFrom(...SAMPLES);
/** Generates text for a request line or header: any byte except line feed and carriage return. */
const line = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) =>
    Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13)).toString('latin1'),
  );
const encoded = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((value) => encodeURIComponent(value)),
  fc
    .uint8Array({ maxLength: 20 })
    .map((bytes) => Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')),
  fc.stringMatching(/^[!-~]{0,40}$/),
);

describe('arbitrary targets', () => {
  const parameter = fc.tuple(
    fc.oneof(
      fc.constantFrom(
        'limit',
        'marker',
        'sort_key',
        'sort_dir',
        'name',
        'scope',
        'all_projects',
        '_method',
      ),
      encoded,
    ),
    fc.oneof(
      fc.constantFrom(
        'max',
        '1',
        '0',
        '*',
        'asc',
        'updated_at',
        UNKNOWN_ID,
        '[*',
        '%25*',
        '%00',
        'delete',
      ),
      encoded,
    ),
  );
  const query = fc.oneof(
    fc
      .array(parameter, { maxLength: 4 })
      .map((list) => list.map(([name, value]) => `${name}=${value}`).join('&')),
    encoded,
    fc.stringMatching(/^[&=+%*?;#a-f0-9]{0,30}$/),
  );

  test('200, 400 or 404 for a list with any query, and links.self returns the same list', async () => {
    await fc.assert(
      fc.asyncProperty(sample, query, async (type, given) => {
        const response = await sendAny(
          service,
          `GET ${pathOf(type)}?${given} HTTP/1.1`,
          usual(service),
        );
        if (response.status !== 200) {
          expect([400, 404]).toContain(response.status);
          return;
        }
        const { links } = JSON.parse(response.body) as { links: { self: string } };
        const again = await sendAny(
          service,
          `GET ${links.self.replace('http://dns.example', '')} HTTP/1.1`,
          usual(service),
        );
        expect(again.body).toBe(response.body);
      }),
      { numRuns: randomCases(150) },
    );
  });

  test('200 with exactly the matching items for a filter by any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 6 }), async (value) => {
        const listed = await service.get(`/v2/tsigkeys?name=${encodeURIComponent(value)}*`);
        const whole = await service.get('/v2/tsigkeys');
        const { comparisonForm } = uniqueOf(tsigkey);
        const starts = (whole.body.tsigkeys as Resource[]).filter(({ name }) =>
          comparisonForm(name).startsWith(comparisonForm(`${value}*`).slice(0, -1)),
        );
        if (!value.includes('*') && !value.includes('\0'))
          expect(listed.body.tsigkeys).toEqual(starts);
      }),
      { numRuns: randomCases(100) },
    );
  });

  test('200, 404 or 400 for any id', async () => {
    await fc.assert(
      fc.asyncProperty(
        sample,
        fc.constantFrom('GET', 'HEAD', 'PATCH', 'DELETE', 'POST', 'PUT'),
        encoded,
        async (type, method, id) => {
          const response = await sendAny(
            service,
            `${method} ${pathOf(type, id)} HTTP/1.1`,
            withBody(service, '{}'),
            '{}',
          );
          if (response.status === 201) expect(id).toMatch(/^(?:[?#/]|$)/);
          else expect([200, 400, 404, 405]).toContain(response.status);
        },
      ),
      { numRuns: randomCases(150) },
    );
  });

  test('2xx or 4xx for any path', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'OPTIONS', 'PUT', 'DELETE'),
        fc.oneof(encoded, line),
        fc.boolean(),
        async (method, path, known) => {
          await sendAny(
            service,
            `${method} /${path} HTTP/1.1`,
            known ? usual(service) : ['Host: h'],
          );
        },
      ),
      { numRuns: randomCases(150) },
    );
  });
});

describe('arbitrary headers', () => {
  const name = fc.oneof(
    fc.constantFrom(
      'Host',
      'X-Auth-Token',
      'Authorization',
      'Content-Type',
      'Accept',
      'Accept-Encoding',
      'Content-Encoding',
      'Cookie',
      'Expect',
      'Upgrade',
    ),
    fc.constantFrom(
      'X-Auth-Sudo-Project-Id',
      'X-Auth-All-Projects',
      'X-Designate-Hard-Delete',
      'X-Openstack-Request-Id',
      'X-HTTP-Method-Override',
    ),
    fc.constantFrom(
      'X-Forwarded-Host',
      'X-Forwarded-Proto',
      'Forwarded',
      'Origin',
      'Range',
      'If-Match',
      'If-None-Match',
      'TE',
      'Trailer',
      'Via',
      'Accept-Version',
    ),
    fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}$/),
  );
  const value = fc.oneof(
    line,
    fc.stringMatching(/^[ -~]{0,40}$/),
    fc.constantFrom(
      '100-continue',
      'websocket',
      'gzip',
      'true',
      'constructor',
      '__proto__',
      'https',
      'a'.repeat(9000),
    ),
  );
  const headers = fc.array(
    fc.tuple(name, value).map(([key, text]) => `${key}: ${text}`),
    { maxLength: 6 },
  );
  const framing = /^(?:content-length|transfer-encoding|connection|keep-alive|proxy-connection):/i;

  test('2xx or 4xx for any headers, with and without Host and token', async () => {
    const requests = fc.constantFrom(
      `GET /v2/tlds`,
      `POST /v2/tlds`,
      `DELETE /v2/tlds/${UNKNOWN_ID}`,
      `OPTIONS /v2/tlds`,
      'GET /',
    );
    await fc.assert(
      fc.asyncProperty(requests, headers, fc.boolean(), async (request, given, known) => {
        const head = [
          ...(known ? usual(service) : []),
          ...given.filter((header) => !framing.test(header)),
        ];
        await sendAny(service, `${request} HTTP/1.1`, [...head, 'Content-Length: 2'], '{}');
      }),
      { numRuns: randomCases(150) },
    );
  });

  test('2xx or 4xx for any method on every type of path', async () => {
    const method = fc.oneof(
      fc.constantFrom(...METHODS),
      fc.stringMatching(/^[A-Za-z!#$%&'*+.^_`|~-]{1,12}$/),
    );
    const path = fc.constantFrom(
      '/v2/tlds',
      `/v2/tsigkeys/${UNKNOWN_ID}`,
      '/v2/tokens',
      '/',
      '/metrics',
      '/nosuch',
      '*',
      'http://h/v2/tlds',
      'dns.example:443',
    );
    await fc.assert(
      fc.asyncProperty(method, path, fc.constantFrom('', '{}', '['), async (verb, target, body) => {
        await sendAny(service, `${verb} ${target} HTTP/1.1`, withBody(service, body), body);
      }),
      { numRuns: randomCases(150) },
    );
  });
});

describe('malformed requests', () => {
  const BATCH = 40;
  const answerAll = async (requests: (readonly (string | Uint8Array)[])[]) => {
    for (const received of await Promise.all(
      requests.map((chunks) => sendBytes(service.url, ...chunks)),
    )) {
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) =>
        Number(status),
      );
      for (const status of statuses) expect(status).toBeLessThan(500);
      if (statuses.length === 1) expectResponse(parseResponse(received));
    }
  };

  test('2xx or 4xx within 10 s for any bytes, or the connection closes', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      line,
      fc.constantFrom(
        'GET',
        'GET / HTTP/1.1\r\n',
        '\r\n',
        '\0',
        'POST /v2/tlds HTTP/1.1\r\nContent-Length: 5\r\n\r\n{',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: BATCH, maxLength: BATCH }), (batch) =>
        answerAll(batch.filter(({ length }) => length > 0).map((one) => [one])),
      ),
      { numRuns: randomCases(3), endOnFailure: true },
    );
  });

  test('2xx or 4xx within 10 s for a valid request with any change', async () => {
    const change = fc.tuple(
      fc.nat(170),
      fc.nat(10),
      fc.oneof(line, fc.constantFrom('\r\n', '\r\n\r\n', '\r', '\n', '\0', ':', ' ', '9')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: BATCH, maxLength: BATCH }), (batch) => {
        const whole = `PATCH /v2/tlds/${UNKNOWN_ID} HTTP/1.1\r\n${withBody(service, '{}').join('\r\n')}`;
        const requests = batch.map(([at, length, inserted]) => [
          `${whole.slice(0, at)}${inserted}${whole.slice(at + length)}\r\nConnection: close\r\n\r\n{}`,
        ]);
        return answerAll(requests.map(([request = '']) => [Buffer.from(request, 'latin1')]));
      }),
      { numRuns: randomCases(3), endOnFailure: true },
    );
  });
});
