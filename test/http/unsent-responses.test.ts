import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createUnsentBudget } from '../../src/http/admission/admission.ts';
import { openConnections } from '../harness/connections.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

describe('the budget', () => {
  test('allows one owner a quarter of the bytes', () => {
    const budget = createUnsentBudget(400);
    const sent = budget.add('a', 60);
    expect([budget.fits('a', 40), budget.isFull('a')]).toEqual([true, false]);
    budget.add('a', 40);
    expect([budget.isFull('a'), budget.isFull('b'), budget.fits('b', 100)]).toEqual([
      true,
      false,
      true,
    ]);
    sent();
    expect([budget.isFull('a'), budget.bytes()]).toEqual([false, 40]);
  });

  test('is exhausted for an owner whose response did not fit, until a response is sent', () => {
    const budget = createUnsentBudget(400);
    const sent = budget.add('a', 60);
    expect([budget.fits('a', 41), budget.isFull('a'), budget.isFull('b')]).toEqual([
      false,
      true,
      false,
    ]);
    sent();
    expect([budget.isFull('a'), budget.fits('a', 41)]).toEqual([false, true]);
  });

  test('limits all owners together', () => {
    const budget = createUnsentBudget(400);
    const sent = ['a', 'b', 'c', 'd'].map((owner) => budget.add(owner, 100));
    expect([budget.isFull('e'), budget.fits('e', 1)]).toEqual([true, false]);
    for (const release of sent) release();
    expect([budget.isFull('e'), budget.fits('e', 100), budget.bytes()]).toEqual([false, true, 0]);
  });

  test('allows a response above the whole budget if nothing else is unsent', () => {
    const budget = createUnsentBudget(400);
    expect(budget.fits('a', 1000)).toBe(true);
    budget.add('a', 1000);
    expect([budget.fits('a', 1), budget.fits('b', 1), budget.isFull('b')]).toEqual([
      false,
      false,
      true,
    ]);
  });
});

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
