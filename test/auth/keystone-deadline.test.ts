import { type RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';
import { serve } from '../harness/connections.ts';

const TIMEOUT_SECONDS = 2;

/** Starts a service that uses this listener as its Keystone. */
async function startWith(listener: RequestListener): Promise<TestService> {
  return startTestService({
    TSIGIL_AUTH_METHOD: 'keystone',
    TSIGIL_AUTH_KEYSTONE_URL: await serve(listener),
    TSIGIL_AUTH_KEYSTONE_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS),
    TSIGIL_AUTH_KEYSTONE_USERNAME: 'tsigil',
    TSIGIL_AUTH_KEYSTONE_PASSWORD: 'a-password',
    TSIGIL_AUTH_KEYSTONE_PROJECT: 'services',
  });
}

/** Sends a request with a token. Returns the status and the seconds until the response. */
async function timeRequest(
  service: TestService,
  token: string,
): Promise<[status: number, seconds: number]> {
  const startedAt = performance.now();
  const { status } = await service.with(token).get('/v2/tlds');
  return [status, (performance.now() - startedAt) / 1000];
}

test('503 within timeoutSeconds if sign-in and validation each take 60 % of this time', async () => {
  const seen: string[] = [];
  const service = await startWith((request, response) => {
    seen.push(request.method ?? '');
    setTimeout(() => {
      const token = { issued_at: '2026-01-01T00:00:00Z', expires_at: '2026-01-02T00:00:00Z' };
      if (request.method === 'POST')
        response.writeHead(201, { 'x-subject-token': 'own' }).end(JSON.stringify({ token }));
      else response.writeHead(401).end(JSON.stringify({ error: { code: 401 } }));
    }, 600 * TIMEOUT_SECONDS);
  });
  const [status, seconds] = await timeRequest(service, 'a-token');
  expect(status).toBe(503);
  expect(seconds).toBeGreaterThan(TIMEOUT_SECONDS * 0.9);
  expect(seen).toEqual(['POST', 'GET']);
  expect(service.log.join()).toContain('Keystone: no response within 2 seconds');
});

test('503 within timeoutSeconds for 80 concurrent tokens, although the service validates only 32 at a time', async () => {
  const service = await startWith(() => undefined);
  const responses = await Promise.all(
    Array.from({ length: 80 }, (_, index) => timeRequest(service, `token-${index}`)),
  );
  expect(new Set(responses.map(([status]) => status))).toEqual(new Set([503]));
  // Three times as long, if each turn of 32 had its own time.
  expect(Math.max(...responses.map(([, seconds]) => seconds))).toBeLessThan(TIMEOUT_SECONDS * 3);
});

test('503 within timeoutSeconds if Keystone sends its response one byte at a time', async () => {
  const service = await startWith((_request, response) => {
    response.writeHead(201);
    const drip = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(drip));
  });
  const [status] = await timeRequest(service, 'a-token');
  expect(status).toBe(503);
});
