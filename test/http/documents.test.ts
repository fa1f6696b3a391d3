import { beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';
import { sendRequest } from '../harness/wire.ts';

let service: TestService;
beforeAll(async () => {
  // The documents need no token. A fast machine would exceed the limit of such requests.
  service = await startTestService({ TSIGIL_RATE_LIMIT_ANONYMOUS_REQUESTS_PER_SECOND: '0' });
});

const PATHS = ['/docs', '/openapi.json'];

async function read(path: string, host: string): Promise<string> {
  const response = await sendRequest(service.url, [`GET ${path} HTTP/1.1`, `Host: ${host}`]);
  expect(response.status).toBe(200);
  return response.body;
}

describe.each(PATHS)('%s', (path) => {
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
      expect(links).toBeGreaterThan(path === '/docs' ? 1 : 10);
      expect(reference).not.toContain('base-url.invalid');
      expect(await read(path, host)).toBe(
        reference.replaceAll('http://reference.example', `http://${host}`),
      );
    },
  );

  test('200 with the configured base URL, escaped in HTML', async () => {
    const publicUrl = 'https://dns.example/a&b';
    const other = await startTestService({ TSIGIL_PUBLIC_URL: publicUrl });
    const text = (await other.get(path)).text;
    await other.close();
    const escaped = path === '/docs' ? publicUrl.replaceAll('&', '&amp;') : publicUrl;
    expect(text).toBe(
      (await read(path, 'reference.example')).replaceAll('http://reference.example', escaped),
    );
  });
});
