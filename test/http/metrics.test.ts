import { afterAll, beforeAll, expect, test } from 'vitest';
import { RESOURCE_TYPES } from '../../src/domain/resources.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { sendBytes } from '../harness/wire.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

function resourceSeries(text: string): string[] {
  return text.split('\n').filter((line) => line.startsWith('tsigil_resources{'));
}

test('200 with the same complete text for concurrent scrapes', async () => {
  // Requests of one packet begin in the same turn of the event loop.
  const request = 'GET /metrics HTTP/1.1\r\nHost: tsigil.example\r\n';
  const answers = (await sendBytes(service.url, `${request}\r\n`.repeat(2) + `${request}Connection: close\r\n\r\n`)).split('HTTP/1.1 ').slice(1);
  expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '200', '200']);
  const texts = answers.map((answer) => answer.slice(answer.indexOf('\r\n\r\n')));
  expect(resourceSeries(texts[0] ?? '')).toHaveLength(RESOURCE_TYPES.length);
  expect(new Set(texts).size).toBe(1);
});

test('200 without a new count within 15 s', async () => {
  const before = resourceSeries((await service.get('/metrics')).text);
  expect((await service.post('/v2/tlds', { name: 'counted-later' })).status).toBe(201);
  expect(resourceSeries((await service.get('/metrics')).text)).toEqual(before);
});

test('200 from /readyz for concurrent requests', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => service.get('/readyz')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});
