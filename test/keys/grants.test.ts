import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { createEstate, limitedTokens, type Estate } from '../harness/limited-tokens.ts';
import { expectError, POOL_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
/** The ids of two zones of the default pool, and of one in another pool. */
let zones: readonly [string, string, string];
let count = 0;

beforeAll(async () => {
  service = await startTestService();
  const { body: pool } = await service.post('/v2/pools', { name: 'other' });
  zones = [await zone(), await zone(), await zone({ pool_id: pool.id })];
});

async function zone(more: object = {}): Promise<string> {
  const name = `zone-${(count += 1)}.example.`;
  const body = { name, email: 'hostmaster@example.org', ...more };
  const response = await service.post('/v2/zones', body, { 'x-auth-sudo-project-id': 'red' });
  expect(response.status, response.text).toBe(201);
  return String(response.body.id);
}

const create = (more: object = {}, client: Client = service) =>
  client.post('/v2/tsigkeys', {
    name: `key-${(count += 1)}`,
    algorithm: 'hmac-sha256',
    scope: 'POOL',
    resource_id: POOL_ID,
    ...more,
  });
const created = async (more: object = {}): Promise<string> => {
  const response = await create(more);
  expect(response.status, response.text).toBe(201);
  return String(response.body.id);
};
const grantsOf = async (id: string, client: Client = service) =>
  (await client.get(`/v2/tsigkeys/${id}/grants`)).body.grants as unknown;
const put = (id: string, grants: unknown, client: Client = service) =>
  client.call('PUT', `/v2/tsigkeys/${id}/grants`, { grants });
const stateOf = async (id: string) =>
  (await service.get(`/v2/tsigkeys/${id}/deliveries`)).body.version as number;

describe('PUT /v2/tsigkeys/{id}/grants', () => {
  test('200 with the canonical form, and the key itself stays the same', async () => {
    const id = await created();
    expect(await grantsOf(id)).toBe(null);
    const before = (await service.get(`/v2/tsigkeys/${id}`)).body;
    const [one, two] = [zones[0], zones[1]].sort() as [string, string];
    const response = await put(id, [
      { rights: ['update', 'transfer'], zones: [two] },
      { rights: ['transfer'], zones: [two, one.toUpperCase()] },
    ]);
    expect(response.status, response.text).toBe(200);
    const canonical = [
      { rights: ['transfer'], zones: [one] },
      { rights: ['transfer', 'update'], zones: [two] },
    ];
    expect(response.body).toEqual({ grants: canonical });
    expect(await grantsOf(id)).toEqual(canonical);
    expect((await service.get(`/v2/tsigkeys/${id}`)).body).toEqual(before);
    expect(await stateOf(id)).toBe(2);
    await put(id, canonical);
    expect(await stateOf(id)).toBe(2);
    await put(id, [...canonical, { rights: ['transfer'], zones: 'all' }]);
    expect(await grantsOf(id)).toEqual([
      { rights: ['transfer'], zones: 'all' },
      { rights: ['update'], zones: [two] },
    ]);
    await put(id, []);
    expect(await grantsOf(id)).toEqual([]);
    await put(id, null);
    expect([await grantsOf(id), await stateOf(id)]).toEqual([null, 5]);
  });

  test('200 for a key of one zone, with its zone and with all zones', async () => {
    const id = await created({ scope: 'ZONE', resource_id: zones[0] });
    for (const own of [[zones[0]], 'all'])
      expect((await put(id, [{ rights: ['transfer'], zones: own }])).status).toBe(200);
    expectError(
      await put(id, [{ rights: ['transfer'], zones: [zones[1]] }]),
      400,
      'invalid_object',
    );
  });

  test.each([
    ['a zone that does not exist', () => [{ rights: ['transfer'], zones: [randomUUID()] }]],
    ['a zone of another pool', () => [{ rights: ['transfer'], zones: [zones[2]] }]],
    ['no zone', () => [{ rights: ['transfer'], zones: [] }]],
    ['no right', () => [{ rights: [], zones: 'all' }]],
    ['an unknown right', () => [{ rights: ['query'], zones: 'all' }]],
    ['an unknown word', () => [{ rights: ['transfer'], zones: 'some' }]],
    ['something else', () => 'all'],
    ['too many', () => Array.from({ length: 17 }, () => ({ rights: ['transfer'], zones: 'all' }))],
  ])('400 for %s, and nothing changes', async (what, grants) => {
    const id = await created();
    const message = expectError(await put(id, grants()), 400, 'invalid_object');
    if (what === 'a zone of another pool')
      expect(message).toBe(
        `Invalid TsigKey: item 0: 'grants' has the zone '${zones[2]}', which is not in the pool of the key. Use the ids of zones in the scope of the key`,
      );
    expect([await grantsOf(id), await stateOf(id)]).toEqual([null, 1]);
    expectError(await create({ grants: grants() }), 400, 'invalid_object');
  });

  test('412 with the entity tag of grants that another caller has changed, and 200 with the present one', async () => {
    const id = await created();
    const path = `/v2/tsigkeys/${id}/grants`;
    const tagOf = async () => String((await service.get(path)).headers.get('etag'));
    const putIf = (tag: string, grants: unknown) =>
      service.call('PUT', path, { grants }, { 'if-match': tag });
    const former = await tagOf();
    const narrow = [{ rights: ['transfer'], zones: [zones[0]] }];
    const changed = await putIf(former, narrow);
    expect(changed.status, changed.text).toBe(200);
    const present = await tagOf();
    expect(present).not.toBe(former);
    expect(changed.headers.get('etag')).toBe(present);
    expectError(await putIf(former, null), 412, 'precondition_failed');
    expect(await grantsOf(id)).toEqual(narrow);
    expect((await putIf('*', [])).status).toBe(200);
    expectError(await putIf(present, null), 412, 'precondition_failed');
    expect((await put(id, narrow)).status).toBe(200);
    expect((await putIf(present, null)).status).toBe(200);
  });

  test('the audit trail records the grants before and after, by the names of zones', async () => {
    const id = await created({ grants: [] });
    await put(id, [{ rights: ['transfer'], zones: [zones[0]] }]);
    const { body: named } = await service.get(`/v2/zones/${zones[0]}`, {
      'x-auth-all-projects': 'true',
    });
    const { body } = await service.get(`/v2/audit?resource_id=${id}`);
    const records = body.records as { action: string; detail: { changes: object } }[];
    expect(records.map(({ action }) => action).sort()).toEqual([
      'tsigkeys:create',
      'tsigkeys:grant',
    ]);
    const after = [{ rights: ['transfer'], zones: [named.name] }];
    expect(records.find(({ action }) => action === 'tsigkeys:grant')?.detail).toEqual({
      changes: { grants: [[], after] },
    });
    expect(records.find(({ action }) => action === 'tsigkeys:create')?.detail).toMatchObject({
      changes: { grants: [null, []] },
    });
  });
});

describe('other requests', () => {
  test('201 with grants, which no response shows', async () => {
    const response = await create({ grants: [{ rights: ['transfer'], zones: [zones[0]] }] });
    expect(response.status).toBe(201);
    expect(response.body).not.toHaveProperty('grants');
    const { body } = await service.get(`/v2/tsigkeys/${response.body.id}`);
    expect(Object.keys(body)).toEqual(Object.keys(response.body));
    expect(await grantsOf(String(body.id))).toEqual([{ rights: ['transfer'], zones: [zones[0]] }]);
    expect(await grantsOf(await created({ grants: [] }))).toEqual([]);
    expect(await grantsOf(await created({ grants: null }))).toBe(null);
  });

  test('400 for a PATCH of the grants, which says where they are changed', async () => {
    const id = await created();
    const response = await service.patch(`/v2/tsigkeys/${id}`, { grants: [] });
    expectError(response, 400, 'invalid_object');
    expect(response.body.message).toContain('Use PUT /v2/tsigkeys/{id}/grants');
  });

  test('409 for a PATCH of the scope away from granted zones, and 200 within them', async () => {
    const id = await created({ grants: [{ rights: ['transfer'], zones: [zones[0]] }] });
    const move = (more: object) => service.patch(`/v2/tsigkeys/${id}`, more);
    const refused = await move({ scope: 'ZONE', resource_id: zones[1] });
    expectError(refused, 409, 'outside_grants');
    const { body } = await service.get(`/v2/zones/${zones[2]}`, { 'x-auth-all-projects': 'true' });
    expectError(await move({ resource_id: body.pool_id }), 409, 'outside_grants');
    expect((await move({ scope: 'ZONE', resource_id: zones[0] })).status).toBe(200);
    expect((await move({ scope: 'POOL', resource_id: POOL_ID })).status).toBe(200);
    await put(id, []);
    expect((await move({ scope: 'ZONE', resource_id: zones[1] })).status).toBe(200);
  });

  test('a deleted zone leaves the grants, and a list without zones opens nothing', async () => {
    const [gone, stays] = [await zone(), await zone()];
    const id = await created({ grants: [{ rights: ['transfer'], zones: [gone, stays] }] });
    const remove = async (each: string) => {
      const path = `/v2/zones/${each}`;
      expect((await service.call('DELETE', path, undefined, ALL_PROJECTS)).status).toBe(202);
    };
    await remove(gone);
    expect(await grantsOf(id)).toEqual([{ rights: ['transfer'], zones: [stays] }]);
    await remove(stays);
    expect(await grantsOf(id)).toEqual([]);
    expect((await service.delete(`/v2/tsigkeys/${id}`)).status).toBe(204);
  });
});

const ALL_PROJECTS = { 'x-auth-all-projects': 'true' };

describe('with limited tokens', () => {
  let estate: Estate;
  let limited: Awaited<ReturnType<typeof limitedTokens>>;
  beforeAll(async () => {
    estate = await createEstate(service);
    limited = await limitedTokens(service, estate);
  });

  test('403 for a token limited to a key, which could otherwise widen the key whose secret it knows', async () => {
    const [key] = estate.poolKeys;
    await put(key, []);
    const response = await put(key, null, limited.keys);
    expectError(response, 403, 'outside_limits');
    expect(response.body.message).toContain("the right 'tsigkeys:grant'");
    const moved = { scope: 'ZONE', resource_id: estate.zones[0] };
    expect((await limited.keys.patch(`/v2/tsigkeys/${key}`, moved)).status).toBe(403);
    expect(await grantsOf(key, limited.keys)).toEqual([]);
    await put(key, null);
  });
});

describe('the keys that open a zone or a name server', () => {
  test('200 with what each key opens, within the rights of the name server', async () => {
    const { body: pool } = await service.post('/v2/pools', { name: 'opened' });
    const [one, two] = [await zone({ pool_id: pool.id }), await zone({ pool_id: pool.id })];
    const inPool = { scope: 'POOL', resource_id: pool.id };
    const all = await created({ name: 'o-1', ...inPool });
    const few = await created({
      name: 'o-2',
      ...inPool,
      grants: [
        { rights: ['transfer'], zones: [one, two] },
        { rights: ['update'], zones: [two] },
      ],
    });
    const none = await created({ name: 'o-3', ...inPool, grants: [] });
    const own = await created({
      name: 'o-4',
      scope: 'ZONE',
      resource_id: one,
      grants: [{ rights: ['update'], zones: 'all' }],
    });
    const opens = (rights: readonly string[], zones: 'all' | number) => ({ rights, zones });
    const both = ['transfer', 'update'];

    expect((await service.get(`/v2/zones/${one}/tsigkeys`, ALL_PROJECTS)).body).toEqual({
      keys: [
        { id: all, name: 'o-1', opens: [opens(both, 'all')] },
        { id: few, name: 'o-2', opens: [opens(['transfer'], 1)] },
        { id: own, name: 'o-4', opens: [opens(['update'], 'all')] },
      ],
      more: 0,
    });
    const { body: server } = await service.post('/v2/nameservers', {
      name: 'opened',
      pool_id: pool.id,
      driver: 'bind',
      address: '192.0.2.53',
      rights: ['transfer'],
    });
    expect((await service.get(`/v2/nameservers/${server.id}/tsigkeys`)).body).toEqual({
      keys: [
        { id: all, name: 'o-1', opens: [opens(['transfer'], 'all')] },
        { id: few, name: 'o-2', opens: [opens(['transfer'], 2)] },
        { id: none, name: 'o-3', opens: [] },
        { id: own, name: 'o-4', opens: [] },
      ],
      more: 0,
    });
  });
});
