import type { RequestListener, ServerResponse } from 'node:http';
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

const statusOf = async (service: TestService, token: string): Promise<number> =>
  (await service.with(token).get('/v2/tlds')).status;

/** Sends the response of Keystone to the service's own sign-in. */
function signIn(response: ServerResponse): void {
  const token = { issued_at: '2026-01-01T00:00:00Z', expires_at: '2026-01-02T00:00:00Z' };
  response.writeHead(201, { 'x-subject-token': 'own' }).end(JSON.stringify({ token }));
}

test('503 if sign-in and validation together take more than timeoutSeconds, although each takes less', async () => {
  const seen: string[] = [];
  const service = await startWith((request, response) => {
    seen.push(request.method ?? '');
    setTimeout(() => {
      if (request.method === 'POST') signIn(response);
      else response.writeHead(401).end(JSON.stringify({ error: { code: 401 } }));
    }, 600 * TIMEOUT_SECONDS);
  });
  // A busy machine may delay the sign-in alone beyond the limit.
  while (!seen.includes('GET')) expect(await statusOf(service, 'a-token')).toBe(503);
  expect(service.log.join()).toContain('Keystone: no response within 2 seconds');
});

test('503 for 80 concurrent tokens before a later request has waited for timeoutSeconds, although the service validates only 32 at a time', async () => {
  const service = await startWith((request, response) => {
    if (request.method === 'POST') signIn(response);
  });
  const other = await startWith(() => undefined);
  const responses = Array.from({ length: 80 }, (_, index) => statusOf(service, `token-${index}`));
  await Promise.race(responses);
  // If each turn of 32 had its own time, the last turn would end after this request.
  const later = statusOf(other, 'a-token').then(() => 'a later request');
  expect(await Promise.race([Promise.all(responses).then((all) => new Set(all)), later])).toEqual(
    new Set([503]),
  );
  await later;
});

test('503 if Keystone sends its response one byte at a time', async () => {
  const service = await startWith((_request, response) => {
    response.writeHead(201);
    const drip = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(drip));
  });
  expect(await statusOf(service, 'a-token')).toBe(503);
});
