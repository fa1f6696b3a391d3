import { afterAll, beforeAll, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/domain/resources/resources.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

function resourceSeries(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('tsigil_resources{'));
}

test('200 with all metrics for concurrent scrapes, which share a slow database query', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => service.get('/metrics')));
  for (const { status, text } of responses)
    expect([status, resourceSeries(text).length]).toEqual([200, RESOURCE_TYPES.length]);
  // SQLite runs each statement at once, so each run ends before the next request is read.
  const mostRuns =
    process.env.TEST_DATABASE === 'postgres' ? responses.length - 1 : responses.length;
  expect(new Set(responses.map(({ text }) => text)).size).toBeLessThanOrEqual(mostRuns);
});

test('200 without a new count within 15 s', async () => {
  const before = resourceSeries((await service.get('/metrics')).text);
  expect((await service.post('/v2/tlds', { name: 'counted-later' })).status).toBe(201);
  expect(resourceSeries((await service.get('/metrics')).text)).toEqual(before);
});

test('200 from /readyz for concurrent requests', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => service.get('/readyz')));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
});
