import { describe, expect, test } from 'vitest';
import { expectError, problemsOf } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { serve } from '../harness/connections.ts';

const DAY = 86_400_000;

/**
 * Starts a service that accepts Tsigil and Keystone tokens. Its Keystone accepts every token as a
 * token of the administrator ada.
 */
async function start(settings: Record<string, string> = {}): Promise<TestService> {
  const keystone = await serve((_request, response) => {
    const domain = { id: 'default', name: 'Default' };
    const token = {
      methods: ['password'],
      user: { id: 'ada-id', name: 'ada', domain },
      project: { id: 'web', name: 'web', domain },
      roles: [{ id: 'r', name: 'admin' }],
      issued_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + DAY).toISOString(),
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token }));
  });
  return startTestService({
    TSIGIL_AUTH_METHOD: '[tokens, keystone]',
    TSIGIL_AUTH_KEYSTONE_URL: keystone,
    ...settings,
  });
}

const admin = (name: string, more: object = {}) => ({ name, roles: ['admin'], ...more });
const after = (days: number) => new Date(Date.now() + days * DAY).toISOString().slice(0, 19);

describe('a token that a Keystone user creates', () => {
  test('201 with the user as its creator, and an expiry after 90 days', async () => {
    const ada = (await start()).with('a-keystone-token');
    for (const more of [{}, { expires_at: null }]) {
      const { status, body } = await ada.post('/v2/tokens', admin(JSON.stringify(more), more));
      expect([status, body.created_by]).toEqual([201, 'keystone:ada-id']);
      expect(body.expires_at.slice(0, 15)).toBe(after(90).slice(0, 15));
      expect((await ada.get(`/v2/tokens/${body.id}`)).body).toMatchObject({
        created_by: 'keystone:ada-id',
        expires_at: body.expires_at,
      });
    }
  });

  test('201 with an earlier expiry, 400 with a later expiry', async () => {
    const ada = (await start({ TSIGIL_AUTH_KEYSTONE_MAX_TOKEN_DAYS: '2' })).with('a-token');
    const tomorrow = after(1);
    const early = await ada.post('/v2/tokens', admin('early', { expires_at: tomorrow }));
    expect([early.status, early.body.expires_at]).toEqual([201, `${tomorrow}.000000`]);
    const late = await ada.post('/v2/tokens', admin('late', { expires_at: after(3) }));
    expectError(late, 400, 'invalid_object');
    expect(problemsOf(late)).toEqual(['expires_at: maximum']);
    expect(late.body.message).toMatch(/must be \d{4}-\S+ or earlier/);
  });

  test('creates only tokens with the same creator and no later expiry', async () => {
    const service = await start();
    const first = (await service.with('a-token').post('/v2/tokens', admin('first'))).body;
    const holder = service.with(first.token);
    const second = (await holder.post('/v2/tokens', admin('second'))).body;
    expect([second.created_by, second.expires_at]).toEqual(['keystone:ada-id', first.expires_at]);
    const third = await service
      .with(second.token)
      .post('/v2/tokens', admin('third', { expires_at: after(120) }));
    expectError(third, 400, 'invalid_object');
  });
});

describe('a token that a Tsigil token or adminToken creates', () => {
  test('201 with the token or adminToken as the creator, and without an expiry', async () => {
    const service = await start();
    const one = (await service.post('/v2/tokens', admin('one'))).body;
    expect([one.created_by, one.expires_at]).toEqual(['configured', null]);
    const two = (await service.with(one.token).post('/v2/tokens', admin('two'))).body;
    expect([two.created_by, two.expires_at]).toEqual([`token:${one.id}`, null]);
    expect(problemsOf(await service.post('/v2/tokens', admin('x', { created_by: 'me' })))).toEqual([
      'created_by: readOnly',
    ]);
  });

  test('expires no later than the token that creates it, and no request changes the expiry', async () => {
    const service = await start();
    const first = (await service.post('/v2/tokens', admin('first', { expires_at: after(1) }))).body;
    const holder = service.with(first.token);
    for (const given of [after(2), after(9000)]) {
      const late = await holder.post('/v2/tokens', admin('late', { expires_at: given }));
      expectError(late, 400, 'invalid_object');
      expect(late.body.message).toContain("because the caller's token expires then");
    }
    for (const more of [{}, { expires_at: null }]) {
      const { body } = await holder.post('/v2/tokens', admin(JSON.stringify(more), more));
      expect(body.expires_at).toBe(first.expires_at);
    }
    const early = await holder.post('/v2/tokens', admin('early', { expires_at: after(0.5) }));
    expect([early.status, early.body.expires_at < first.expires_at]).toEqual([201, true]);
    for (const id of [first.id, early.body.id]) {
      const changed = await holder.patch(`/v2/tokens/${id}`, { expires_at: null });
      expect(changed.status).toBe(405);
    }
    expect((await holder.get(`/v2/tokens/${first.id}`)).body.expires_at).toBe(first.expires_at);
  });

  test('400 with the reason if the service accepts Keystone tokens only', async () => {
    const service = await start({ TSIGIL_AUTH_METHOD: 'keystone' });
    for (const client of [service, service.with('a-token')]) {
      const message = expectError(
        await client.post('/v2/tokens', admin('useless')),
        400,
        'invalid_operation',
      );
      expect(message).toContain("'auth.method' is 'keystone'");
    }
    expect((await service.get('/v2/tokens')).body.tokens).toEqual([]);
  });
});
