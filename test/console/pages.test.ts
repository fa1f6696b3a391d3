import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';

const SCRIPT = 'console.log("x");'.repeat(100);
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** Returns a folder with a console of one page and one script. */
function builtConsole(): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Tsigil</title>');
  writeFileSync(join(folder, 'assets', 'main-abc.js'), SCRIPT);
  return folder;
}

describe('the console', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({}, { consoleFolder: builtConsole() });
  });

  test.each(['/console', '/console/', '/console/keys', '/console/keys/abc?q=x'])(
    '200 with the page, which may load nothing from elsewhere: %s',
    async (path) => {
      const { status, headers, text } = await service.get(path);
      expect([status, text]).toEqual([200, '<!doctype html><title>Tsigil</title>']);
      expect(headers.get('content-type')).toBe('text/html; charset=UTF-8');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      );
    },
  );

  test.each([
    ['gzip', 'deflate, gzip, br'],
    [null, 'gzip;q=0, br'],
    [null, 'identity'],
  ])('200 with an asset in the encoding %s for %s, for ever', async (encoding, accepted) => {
    const path = '/console/assets/main-abc.js';
    const { status, headers, text } = await service.get(path, { 'accept-encoding': accepted });
    expect([status, text]).toEqual([200, SCRIPT]);
    expect(headers.get('content-encoding')).toBe(encoding);
    expect(headers.get('content-type')).toBe('text/javascript; charset=UTF-8');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('vary')).toBe('Accept-Encoding');
  });

  test.each(['other.js', '..%2findex.html'])(
    '404 for an unknown asset, and never the page or another file: %s',
    async (name) => {
      const { status, headers } = await service.get(`/console/assets/${name}`);
      expect(status).toBe(404);
      expect(headers.get('cache-control')).toBe('no-store');
    },
  );

  test('302 from / for a browser, and the versions for every program', async () => {
    const browser = await fetch(`${service.url}/`, {
      headers: { accept: BROWSER },
      redirect: 'manual',
    });
    expect([browser.status, browser.headers.get('location')]).toEqual([
      302,
      `${service.url}/console/`,
    ]);
    for (const accept of ['*/*', 'application/json', 'application/json, text/html', ''])
      expect((await service.get('/', { accept })).body.versions, accept).toHaveLength(2);
  });

  test.each([
    '//evil.example',
    '/\\evil.example',
    '/?next=//evil.example',
    '/console//evil.example',
  ])('no redirect leads to another host: %s', async (path) => {
    const headers = { accept: BROWSER };
    const response = await fetch(service.url + path, { headers, redirect: 'manual' });
    const location = response.headers.get('location');
    if (location !== null) expect(location).toBe(`${service.url}/console/`);
  });

  test.each([
    '/',
    '/v2/tlds',
    '/v2/nosuch',
    '/v2/%',
    '/docs',
    '/console',
    '/healthcheck',
    '/metrics',
  ])('every response keeps other pages away: %s', async (path) => {
    const { headers } = await service.get(path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('permissions-policy')).toContain('clipboard-write=(self)');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });
});

test('404 with the command that builds the console if it is not built, and the versions at /', async () => {
  const service = await startTestService({}, { consoleFolder: temporaryFolder() });
  const { status, body } = await service.get('/console/');
  expect([status, body.message]).toEqual([404, expect.stringContaining('npm run build')]);
  expect((await service.get('/', { accept: BROWSER })).body.versions).toHaveLength(2);
});
