import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { tokenWith } from '../harness/limited-tokens.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({}, { tokenUseIntervalMs: 20 });
});

const describeToken = async (token: string) =>
  (await service.get(`/v2/tokens/${(await service.with(token).get('/v2/whoami')).body.id}`)).body;

test('200 with the time of the last use, and the use does not change updated_at', async () => {
  const before = new Date().toISOString().slice(0, 23);
  const { body: created } = await service.post('/v2/tokens', { name: 'used', roles: ['reader'] });
  expect(created.last_used_at).toBeNull();
  const path = `/v2/tokens/${created.id}`;
  expect((await service.get(path)).body.last_used_at).toBeNull();
  expect((await service.with(created.token).get('/v2/zones')).status).toBe(200);
  await expect.poll(async () => (await service.get(path)).body.last_used_at).not.toBeNull();
  const { body } = await service.get(path);
  expect({ ...body, token: created.token, last_used_at: null }).toEqual(created);
  expect(body.last_used_at >= before).toBe(true);
  expect(body.last_used_at <= new Date(Date.now() + 1).toISOString()).toBe(true);
});

test('200 with last_used_at null after refused requests only', async () => {
  const client = await tokenWith(service, { addresses: ['192.0.2.1'] });
  const expired = await tokenWith(service, { expires_at: '2020-01-01T00:00:00' });
  for (const refused of [client, expired]) expect((await refused.get('/v2/tlds')).status).toBe(401);
  // Waits until a later use of another token is stored. Any earlier use is stored by then.
  const { id } = await describeToken((await tokenWith(service, {})).token);
  await expect
    .poll(async () => (await service.get(`/v2/tokens/${id}`)).body.last_used_at)
    .not.toBeNull();
  const { body } = await service.get('/v2/tokens');
  const rows = body.tokens as { addresses: unknown; expires_at: unknown; last_used_at: unknown }[];
  const refused = rows.filter(({ addresses, expires_at }) => addresses ?? expires_at);
  expect(refused.map(({ last_used_at: used }) => used)).toEqual([null, null]);
});

test('200 for unused_since with the tokens that were created and last used before this time', async () => {
  let now = '2026-01-01T00:00:00.000000';
  const other = await startTestService({}, { clock: () => now, tokenUseIntervalMs: 20 });
  const make = async (name: string) =>
    (await other.post('/v2/tokens', { name, roles: ['reader'] })).body;
  const used = await make('used');
  await make('old');
  now = '2026-02-01T00:00:00.000000';
  await make('new');
  await other.with(used.token).get('/v2/zones');
  await expect
    .poll(async () => (await other.get(`/v2/tokens/${used.id}`)).body.last_used_at)
    .not.toBeNull();
  const names = async (query: string) => {
    const { status, body } = await other.get(`/v2/tokens?sort_key=name&${query}`);
    return [status, (body.tokens as { name: string }[]).map(({ name }) => name)];
  };
  expect(await names('unused_since=2026-01-15T00:00:00')).toEqual([200, ['old']]);
  expect(await names('unused_since=2026-01-01T00:00:00')).toEqual([200, []]);
  expect(await names('unused_since=2026-02-02T00:00:00')).toEqual([200, ['new', 'old']]);
  expect(await names('unused_since=2999-01-01T00:00:00Z&name=u*')).toEqual([200, ['used']]);
  for (const value of ['', '90d', 'x'])
    expect((await other.get(`/v2/tokens?unused_since=${value}`)).body).toMatchObject({
      type: 'bad_request',
      message: 'The filter unused_since must be a date and time such as 2030-01-31T12:00:00',
    });
  expect((await other.get('/v2/zones?unused_since=2999-01-01T00:00:00')).status).toBe(400);
});

test('200 with a use that the service stored when it stopped', async () => {
  const first = await startTestService();
  const { folder } = first;
  const { body } = await first.post('/v2/tokens', { name: randomUUID(), roles: ['admin'] });
  await first.with(body.token).get('/v2/tlds');
  if (process.env.TEST_DATABASE === 'postgres') {
    await first.close();
    return;
  }
  await first.close();
  const second = await startTestService({}, { folder });
  const { body: stored } = await second.get(`/v2/tokens/${body.id}`);
  expect(stored.last_used_at).not.toBeNull();
});
