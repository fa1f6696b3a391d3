import { afterEach, expect, test, vi } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';

const HOUR = 3_600_000;

let service: TestService | undefined;
afterEach(() => vi.useRealTimers());

test('200 or 401 according to the current system time, even after the clock jumped two hours ahead and back', async () => {
  const began = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: began });
  service = await startTestService();
  const expiresAt = new Date(began + HOUR).toISOString().replace('Z', '000');
  const { body } = await service.post('/v2/tokens', {
    name: 'hour',
    roles: ['admin'],
    expires_at: expiresAt,
  });
  const caller = service.with(body.token as string);
  expect((await caller.get('/v2/tlds')).status).toBe(200);

  vi.setSystemTime(began + 2 * HOUR);
  expect((await service.post('/v2/tlds', { name: 'ahead' })).status).toBe(201);
  expect((await caller.get('/v2/tlds')).status).toBe(401);

  vi.setSystemTime(began + 1000);
  expect((await caller.get('/v2/tlds')).status).toBe(200);
  const created = (await caller.post('/v2/tlds', { name: 'back' })).body.created_at as string;
  expect(Math.abs(Date.parse(`${created}Z`) - began)).toBeLessThan(60_000);
  const warnings = service.log.filter((line) => line.includes('The system clock was set back'));
  expect(warnings).toHaveLength(1);
  expect(JSON.parse(warnings[0] ?? '')).toMatchObject({
    level: 'warn',
    reached: expect.stringMatching(/^\d{4}-/) as string,
    now: created,
  });

  vi.setSystemTime(began + HOUR);
  expect((await caller.get('/v2/tlds')).status).toBe(401);
});
