import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

describe('a fresh service', () => {
  test('200 with no entries', async () => {
    const answer = await service.get('/v2/tlds');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ tlds: [], links: { self: `${service.url}/v2/tlds` } });
  });
});
