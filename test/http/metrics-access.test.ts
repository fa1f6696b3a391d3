import { describe, expect, test } from 'vitest';
import { expectDocumented, readDocument } from '../harness/description.ts';
import { expectError } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const TOKEN = 'a-token-of-prometheus-that-nobody-guesses';
let service: TestService;

/** Reads the metrics without an API token. Expects a documented response and returns it. */
async function read(headers: Record<string, string> = {}) {
  const response = await service.with('').call('GET', '/metrics', undefined, headers);
  expectDocumented(await readDocument(service), '/metrics', 'GET', response);
  return response;
}

describe('/metrics', () => {
  test('200 without a token by default', async () => {
    service = await startTestService();
    const { status, text } = await read();
    expect([status, text]).toEqual([200, expect.stringContaining('tsigil_database_up 1')]);
  });

  test('200 with metrics.token in either header, 401 with another token or without a token', async () => {
    service = await startTestService({ TSIGIL_METRICS_TOKEN: TOKEN });
    for (const headers of [{ authorization: `Bearer ${TOKEN}` }, { 'x-auth-token': TOKEN }])
      expect((await read(headers)).status).toBe(200);
    for (const headers of [
      {},
      { authorization: `Bearer ${TOKEN}x` },
      { 'x-auth-token': '' },
      { 'x-auth-token': service.token },
    ]) {
      const refused = await read(headers);
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(refused.text).not.toContain('tsigil_');
    }
    expect((await service.with('').call('HEAD', '/metrics')).status).toBe(401);
  });

  test('metrics.token is not accepted for other requests', async () => {
    service = await startTestService({ TSIGIL_METRICS_TOKEN: TOKEN });
    expect((await service.with(TOKEN).get('/v2/tlds')).status).toBe(401);
  });

  test.each([
    [['127.0.0.1'], 200],
    [['10.0.0.0/8', '127.0.0.0/8'], 200],
    [['10.0.0.0/8', '::1'], 403],
  ])('the status for 127.0.0.1 with metrics.addresses %j: %d', async (addresses, status) => {
    service = await startTestService({ TSIGIL_METRICS_ADDRESSES: JSON.stringify(addresses) });
    const response = await read();
    if (status === 200) expect(response.status).toBe(200);
    else expectError(response, 403, 'address_denied');
  });

  test('behind a trusted proxy, the service checks the address in X-Forwarded-For', async () => {
    service = await startTestService({
      TSIGIL_METRICS_ADDRESSES: '["2001:db8::/32"]',
      TSIGIL_API_TRUST_PROXY_HEADERS: 'true',
    });
    expect((await read({ 'x-forwarded-for': '2001:db8::5' })).status).toBe(200);
    expect((await read({ 'x-forwarded-for': '2001:db9::5' })).status).toBe(403);
    expect((await read()).status).toBe(403);
  });
});
