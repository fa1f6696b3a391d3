import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { openConnections } from '../harness/connections.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

describe('unread responses', () => {
  let service: TestService;
  let sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets) socket.resetAndDestroy();
  });

  const unsent = async () =>
    Number(/^tsigil_unsent_response_bytes (\d+)$/m.exec((await service.get('/metrics')).text)?.[1]);

  test('503 with Retry-After for a caller with unread responses until the connections close, and 200 for other callers', async () => {
    service = await startTestService({}, { byteLimits: { maxUnsentBytes: 16_777_216 } });
    const tlds = Array.from({ length: 1000 }, (_, index) => ({
      name: `filler${index}`,
      description: 'x'.repeat(150),
    }));
    expect((await service.post('/v2/tlds/bulk', { tlds })).status).toBe(200);
    const { token } = await clientFor(service, ['admin']);
    const text =
      `GET /v2/tlds HTTP/1.1\r\nHost: h\r\nX-Auth-Token: ${service.token}\r\n\r\n`.repeat(60);
    sockets = await openConnections(service.url, 30, { text, reads: false });
    await expect
      .poll(async () => (await service.get('/v2/pools')).status, { interval: 20 })
      .toBe(503);
    const refused = await service.get('/v2/pools');
    expect(refused.body).toMatchObject({ code: 503, type: 'service_unavailable' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await service.with(token).get('/v2/tlds')).status).toBe(200);
    expect((await service.get('/healthcheck')).status).toBe(200);
    expect(await unsent()).toBeLessThanOrEqual(16_777_216 / 4);
    for (const socket of sockets) socket.resetAndDestroy();
    await expect.poll(async () => (await service.get('/v2/pools')).status).toBe(200);
    expect(await unsent()).toBe(0);
  });
});
