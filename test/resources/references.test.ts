import { beforeAll, describe, expect, test } from 'vitest';
import { POOL_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const KEY = { algorithm: 'hmac-sha256' };
const EVERYWHERE = { 'x-auth-all-projects': 'true' };
let service: TestService;
let second: string;
let zone: string;
let keymanager: Record<string, string>;
let reader: Record<string, string>;

beforeAll(async () => {
  service = await startTestService();
  const pool = await service.post('/v2/pools', {
    name: 'second',
    ns_records: [{ hostname: 'ns1.example.net.', priority: 1 }],
  });
  second = pool.body.id as string;
  const created = await service.post('/v2/zones', { name: 'one.example.', email: 'a@example.org' });
  zone = created.body.id as string;
  for (const pool_id of [POOL_ID, second])
    await service.post('/v2/zones', { name: 'two.example.', email: 'a@example.org', pool_id });
  const tokenOf = async (role: string) => {
    return { 'x-auth-token': (await clientFor(service, [role], 'another')).token };
  };
  keymanager = await tokenOf('keymanager');
  reader = await tokenOf('reader');
});

/** Expects 400 for a key with the members in `body`. Returns the message of each problem. */
async function problemsWith(body: Record<string, unknown>): Promise<string[]> {
  const response = await service.post('/v2/tsigkeys', { ...KEY, name: 'refused', ...body });
  expect([response.status, response.body.type]).toEqual([400, 'invalid_object']);
  const { errors } = response.body.errors as { errors: { message: string }[] };
  return errors.map(({ message }) => message);
}

describe('keys', () => {
  test('201 applies a key to the pool or zone with the given name', async () => {
    const pooled = await service.post('/v2/tsigkeys', { ...KEY, name: 'a', pool: 'second' });
    expect([pooled.status, pooled.body.scope, pooled.body.resource_id]).toEqual([
      201,
      'POOL',
      second,
    ]);
    expect(pooled.body).not.toHaveProperty('pool');
    const zoned = await service.post('/v2/tsigkeys', { ...KEY, name: 'b', zone: 'ONE.example.' });
    expect([zoned.status, zoned.body.scope, zoned.body.resource_id]).toEqual([201, 'ZONE', zone]);
  });

  test('200 moves a key to the zone with the given name', async () => {
    const { body } = await service.post('/v2/tsigkeys', { ...KEY, name: 'moved', pool: 'default' });
    const path = `/v2/tsigkeys/${String(body.id)}`;
    const moved = await service.patch(path, { zone: 'one.example.' });
    expect([moved.status, moved.body.scope, moved.body.resource_id]).toEqual([200, 'ZONE', zone]);
    expect((await service.patch(path, { zone: 'three.example.' })).status).toBe(400);
    expect((await service.get(path)).body).toMatchObject({ scope: 'ZONE', resource_id: zone });
  });

  test.each([
    [{ pool: 'third' }, ["'pool' must be the name of an existing pool"]],
    [{ pool: 'a\u0000' }, ["'pool' must be the name of an existing pool"]],
    [{ pool: 1 }, ["'pool' must be a string"]],
    [
      { zone: 'three.example.' },
      [
        "'zone' must be the name of an existing zone in your project. With X-Auth-All-Projects: true, it can be in any project",
      ],
    ],
    [{ pool: 'default', scope: 'POOL' }, ["'pool' cannot be given together with 'scope'"]],
    [
      { pool: 'default', resource_id: POOL_ID },
      ["'pool' cannot be given together with 'resource_id'"],
    ],
    [{ pool: 'default', zone: 'one.example.' }, ["'zone' cannot be given together with 'pool'"]],
    [
      { pool: 'third', algorithm: 'sha256', colour: 'red' },
      [
        "'pool' must be the name of an existing pool",
        "'algorithm' must be one of hmac-md5, hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512",
        "'colour' is not a known property",
      ],
    ],
  ])('400 for %j', async (body, messages) => {
    expect(await problemsWith(body)).toEqual(messages);
  });

  test('201 finds zones of other projects only with X-Auth-All-Projects', async () => {
    const body = { ...KEY, name: 'other-project', zone: 'one.example.' };
    const other = { 'x-auth-sudo-project-id': 'another' };
    expect((await service.post('/v2/tsigkeys', body, other)).status).toBe(400);
    expect((await service.post('/v2/tsigkeys', body, EVERYWHERE)).status).toBe(201);
  });

  test.each([
    ['pool=second', ['a']],
    ['zone=one.example.', ['b', 'moved', 'other-project']],
    ['pool=second&name=b', []],
    ['pool=', []],
    ['zone=three.example.', []],
  ])('200 with the keys for the query %s', async (query, names) => {
    const response = await service.get(`/v2/tsigkeys?${query}&sort_key=name`);
    expect(response.status).toBe(200);
    expect((response.body.tsigkeys as { name: string }[]).map(({ name }) => name)).toEqual(names);
  });

  test.each([
    [
      'pool=second&pool=second',
      'Too many filters by name. Use only one of these filters: pool, zone',
    ],
    [
      'pool=second&zone=one.example.',
      'Too many filters by name. Use only one of these filters: pool, zone',
    ],
  ])('400 for the query %s', async (query, message) => {
    const response = await service.get(`/v2/tsigkeys?${query}`);
    expect([response.status, response.body.message]).toEqual([400, message]);
  });

  test('401 for callers without the right to list pools, whether or not the pool exists', async () => {
    const responses = [];
    for (const pool of ['default', 'third'])
      responses.push(
        await service.get(`/v2/tsigkeys?pool=${pool}`, reader),
        await service.get(`/v2/zones?pool=${pool}`, reader),
      );
    expect(responses.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    const created = await service.post(
      '/v2/tsigkeys',
      { ...KEY, name: 'of-a-keymanager', pool: 'default' },
      keymanager,
    );
    expect(created.status).toBe(201);
  });
});

describe('zones', () => {
  test('201 creates a zone in the pool with the given name', async () => {
    const body = { name: 'pooled.example.', email: 'a@example.org', pool: 'second' };
    const created = await service.post('/v2/zones', body);
    expect([created.status, created.body.pool_id]).toEqual([201, second]);
    const path = `/v2/zones/${String(created.body.id)}`;
    expect((await service.patch(path, { pool: 'default' })).body.message).toBe(
      "Invalid Zone: 'pool_id' cannot be changed",
    );
  });

  test('200 with the zones of the pool with the given name', async () => {
    const response = await service.get('/v2/zones?pool=second&sort_key=name');
    expect((response.body.zones as { name: string }[]).map(({ name }) => name)).toEqual([
      'pooled.example.',
      'two.example.',
    ]);
  });
});
