import { beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';

const ORIGIN = 'https://console.example';
let service: TestService;

/** Returns the CORS headers and Vary of a response, by name. */
const corsOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries(
    [...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'),
  );
const preflight = (origin: string, method: string, path = '/v2/tlds') =>
  service.with('unknown-token').call('OPTIONS', path, undefined, {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'x-auth-token,content-type',
  });

describe('without allowed origins', () => {
  beforeAll(async () => {
    service = await startTestService();
  });

  test('200 without CORS headers', async () => {
    expect(corsOf(await service.get('/v2/tlds', { origin: ORIGIN }))).toEqual({});
    const response = await preflight(ORIGIN, 'POST');
    expect([response.status, corsOf(response)]).toEqual([200, {}]);
  });
});

describe('with allowed origins', () => {
  beforeAll(async () => {
    service = await startTestService({
      TSIGIL_CORS_ALLOWED_ORIGINS: `["${ORIGIN}", "http://localhost:3000"]`,
    });
  });

  test.each([ORIGIN, 'http://localhost:3000'])(
    '200 with CORS headers for a page of the allowed origin %s',
    async (origin) => {
      const headers = corsOf(await service.get('/v2/tlds', { origin }));
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        vary: 'Origin',
      });
      expect(headers['access-control-expose-headers']).toContain('X-Openstack-Request-Id');
      expect(headers['access-control-expose-headers']).toContain('Location');
    },
  );

  test('401, 404 and 413 with CORS headers for a page of an allowed origin', async () => {
    const { url } = service;
    for (const response of [
      await service.with('unknown-token').get('/v2/tlds', { origin: ORIGIN }),
      await service.get('/v2/nosuch', { origin: ORIGIN }),
      await service.post('/v2/tlds', 'x'.repeat(120_000), { origin: ORIGIN }),
    ]) {
      expect(corsOf(response), `${url} ${response.status}`).toMatchObject({
        'access-control-allow-origin': ORIGIN,
      });
    }
  });

  test.each(['PUT', 'DELETE', 'PATCH'])('200 for a preflight request to %s', async (method) => {
    const response = await preflight(ORIGIN, method);
    expect([response.status, response.text]).toEqual([200, '']);
    const headers = corsOf(response);
    expect(headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-credentials': 'true',
      'access-control-max-age': '3600',
      vary: 'Origin',
    });
    expect(headers['access-control-allow-methods']?.split(', ')).toContain(method);
    for (const name of ['X-Auth-Token', 'Content-Type', 'Authorization', 'X-Auth-All-Projects']) {
      expect(headers['access-control-allow-headers']?.split(', ')).toContain(name);
    }
  });

  test('200 without Access-Control-Allow-Methods for the method TRACE', async () => {
    expect(corsOf(await preflight(ORIGIN, 'TRACE'))).not.toHaveProperty(
      'access-control-allow-methods',
    );
  });

  test.each([`${ORIGIN}.evil.example`, 'http://console.example', `${ORIGIN}:444`, 'null'])(
    '200 without CORS headers for a page of the origin %s',
    async (origin) => {
      expect(corsOf(await service.get('/v2/tlds', { origin }))).toEqual({ vary: 'Origin' });
      expect(corsOf(await preflight(origin, 'POST'))).toEqual({ vary: 'Origin' });
      expect(corsOf(await service.get('/v2/tlds'))).toEqual({ vary: 'Origin' });
    },
  );
});
