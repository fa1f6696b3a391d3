import { beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

test('200 with the id, roles, rights and expiry of a token, even with the role reader', async () => {
  const { body: made } = await service.post('/v2/tokens', {
    name: 'guest',
    roles: ['reader'],
    project_id: 'red',
    expires_at: '2999-01-31T12:00:00',
  });
  const { status, body, text } = await service.with(String(made.token)).get('/v2/whoami');
  expect([status, body]).toEqual([
    200,
    {
      id: made.id,
      name: 'guest',
      roles: ['reader'],
      project_id: 'red',
      rights: ['zones:list', 'zones:get'],
      pools: null,
      zones: null,
      keys: null,
      nameservers: null,
      addresses: null,
      expires_at: '2999-01-31T12:00:00.000000',
    },
  ]);
  expect(text).not.toContain(made.token);
});
