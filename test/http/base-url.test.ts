import { beforeAll, describe, expect, test } from 'vitest';
import { create, TLDS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { sendRequest } from '../harness/wire.ts';

let service: TestService;
let current: TestService;

/** Returns the base URL of all links in two responses, or the status and the type of the error. */
async function baseSeen(...headers: string[]): Promise<unknown> {
  const token = `X-Auth-Token: ${current.token}`;
  const list = await sendRequest(current.url, ['GET /v2/tlds?limit=1 HTTP/1.1', token, ...headers]);
  const response = JSON.parse(list.body) as {
    tlds: [{ id: string; links: { self: string } }];
    links: { self: string; next: string };
    type?: string;
  };
  if (list.status !== 200) return [list.status, response.type];
  const base = response.links.self.replace('/v2/tlds?limit=1', '');
  const [{ id, links }] = response.tlds;
  expect(links.self).toBe(`${base}/v2/tlds/${id}`);
  expect(response.links.next).toBe(`${base}/v2/tlds?limit=1&marker=${id}`);
  const one = await sendRequest(current.url, [`GET /v2/tlds/${id} HTTP/1.1`, token, ...headers]);
  expect(JSON.parse(one.body)).toMatchObject({ links });
  return base;
}

describe('the base URL of links, from the Host header', () => {
  beforeAll(async () => {
    service = current = await startTestService();
    await create(service, TLDS, 'com');
  });

  test.each([
    ['dns.example:80', 'http://dns.example'],
    ['dns.example:443', 'http://dns.example:443'],
    ['192.0.2.1:8080', 'http://192.0.2.1:8080'],
    ['[2001:db8::80]:80', 'http://[2001:db8::80]'],
    ['under_score.example', 'http://under_score.example'],
  ])('200 with links for Host: %s', async (host, base) => {
    expect(await baseSeen(`Host: ${host}`)).toBe(base);
  });

  test.each(['', 'a b', 'user@host', 'host:', 'host:123456', '"><script>', 'h?x', '[::1', '%41'])(
    '400 for Host: %s',
    async (host) => {
      expect(await baseSeen(`Host: ${host}`)).toEqual([400, 'bad_request']);
    },
  );

  test('400 without a Host header and for two, even for OPTIONS and in HTTP/1.0', async () => {
    for (const headers of [[], ['Host: h', 'HOST: other'], ['host:', 'Host: h']]) {
      expect(await baseSeen(...headers)).toEqual([400, 'bad_request']);
      const options = ['OPTIONS /v2/tlds HTTP/1.1', ...headers];
      expect((await sendRequest(service.url, options)).status).toBe(400);
    }
    const old = ['GET / HTTP/1.0', 'Host: h', 'Host: h'];
    expect((await sendRequest(service.url, old)).status).toBe(400);
  });

  test('200 for HTTP/1.0 without a Host header, with links to the address of the connection', async () => {
    const response = await sendRequest(service.url, [
      'GET /v2/tlds HTTP/1.0',
      `X-Auth-Token: ${service.token}`,
    ]);
    expect(JSON.parse(response.body)).toMatchObject({ links: { self: `${service.url}/v2/tlds` } });
  });

  test('200 with links for the Host header, whatever the X-Forwarded headers contain', async () => {
    expect(
      await baseSeen(
        'Host: h',
        'X-Forwarded-Host: evil.example',
        'X-Forwarded-Proto: https',
        'Forwarded: host=evil.example',
      ),
    ).toBe('http://h');
  });
});

describe('the base URL of links, from X-Forwarded headers of a trusted proxy', () => {
  beforeAll(async () => {
    service = current = await startTestService({ TSIGIL_API_TRUST_PROXY_HEADERS: 'true' });
    await create(service, TLDS, 'com');
  });

  test.each([
    [['X-Forwarded-Proto: https'], 'https://h'],
    [['X-Forwarded-Proto: https', 'X-Forwarded-Host: dns.example:443'], 'https://dns.example'],
    [['X-Forwarded-Proto: https', 'X-Forwarded-Host: dns.example:80'], 'https://dns.example:80'],
    [
      ['X-Forwarded-Proto: HTTPS, http', 'X-Forwarded-Host: first.example , second.example'],
      'https://first.example',
    ],
    [['X-Forwarded-Proto:', 'X-Forwarded-Host:'], 'http://h'],
    [[], 'http://h'],
  ])('200 with links for the headers %j', async (headers, base) => {
    expect(await baseSeen('Host: h', ...headers)).toBe(base);
  });

  test.each(['X-Forwarded-Proto: ftp', 'X-Forwarded-Proto: constructor', 'X-Forwarded-Host: a/b'])(
    '400 for %s',
    async (header) => {
      expect(await baseSeen('Host: h', header)).toEqual([400, 'bad_request']);
    },
  );
});

describe('the base URL of links, from the configuration', () => {
  beforeAll(async () => {
    service = current = await startTestService({
      TSIGIL_PUBLIC_URL: 'https://dns.example/base/',
      TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
    });
    await create(service, TLDS, 'com');
  });

  test('400 for two Host headers', async () => {
    expect(await baseSeen('Host: h', 'Host: h')).toEqual([400, 'bad_request']);
  });

  test.each([['Host: h'], ['Host: a b'], ['Host: h', 'X-Forwarded-Host: evil.example']])(
    '200 with the configured base URL for %s',
    async (...headers) => {
      expect(await baseSeen(...headers)).toBe('https://dns.example/base');
    },
  );
});

describe('a configured base URL with non-ASCII letters', () => {
  test('201 with links and a Location in ASCII', async () => {
    service = await startTestService({ TSIGIL_PUBLIC_URL: 'https://bücher.example/dns ä/' });
    const { status, headers, body } = await service.post('/v2/tlds', { name: 'com' });
    const links = [
      headers.get('location'),
      body.links.self,
      (await service.get('/v2/tlds')).body.tlds[0].links.self,
    ];
    await service.close();
    expect([status, ...new Set(links)]).toEqual([
      201,
      `https://xn--bcher-kva.example/dns%20%C3%A4/v2/tlds/${body.id}`,
    ]);
  });
});
