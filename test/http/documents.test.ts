import { beforeAll, describe, expect, test } from 'vitest';
import { GUIDES_URL } from '../../src/version.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { sendRequest } from '../harness/wire.ts';

let service: TestService;
beforeAll(async () => {
  // The documents need no token. A fast machine would exceed the limit of such requests.
  service = await startTestService({ TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND: '0' });
});

async function read(path: string, host: string): Promise<string> {
  const response = await sendRequest(service.url, [`GET ${path} HTTP/1.1`, `Host: ${host}`]);
  expect(response.status).toBe(200);
  return response.body;
}

describe('/openapi.json', () => {
  const path = '/openapi.json';

  test.each([
    'dns.example',
    'dns.example:8080',
    '[2001:db8::1]:9001',
    'a_b.example',
    '127.0.0.1',
    'base-url.invalid',
  ])(
    '200 with links for Host: %s, and the rest of the content is the same for all hosts',
    async (host) => {
      const reference = await read(path, 'reference.example');
      const links = reference.split('http://reference.example').length - 1;
      expect(links).toBeGreaterThan(10);
      expect(reference).not.toContain('base-url.invalid');
      expect(await read(path, host)).toBe(
        reference.replaceAll('http://reference.example', `http://${host}`),
      );
    },
  );

  test('200 with the configured base URL', async () => {
    const publicUrl = 'https://dns.example/a&b';
    const other = await startTestService({ TSIGIL_PUBLIC_URL: publicUrl });
    const text = (await other.get(path)).text;
    await other.close();
    expect(text).toBe(
      (await read(path, 'reference.example')).replaceAll('http://reference.example', publicUrl),
    );
  });
});

describe('/docs', () => {
  test('200 without a token, with links to the description, the console and the guides, and no script', async () => {
    const { status, headers, text } = await service.with('').get('/docs');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=UTF-8');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; /);
    expect([...text.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)).toEqual([
      'openapi.json',
      'console/',
      GUIDES_URL,
    ]);
    expect(text).not.toContain('<script');
  });
});
