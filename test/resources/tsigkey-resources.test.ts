import { beforeAll, describe, expect, test } from 'vitest';
import {
  expectError,
  itemsOf,
  KEY_MEMBERS,
  POOL_ID,
  SECRET,
  TSIGKEYS,
  UNKNOWN_ID,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { createZone, primary } from '../harness/zones.ts';

let count = 0;
/** Returns a body that creates a key with a new name for a resource. */
const key = (scope: string, resourceId: string) => ({
  ...TSIGKEYS.body(`key-${(count += 1)}`),
  scope,
  resource_id: resourceId,
});

async function keep(service: TestService, scope: string, resourceId: string) {
  const response = await service.post('/v2/tsigkeys', key(scope, resourceId));
  expect(response.status, response.text).toBe(201);
  return response.body;
}

async function createPool(service: TestService, name: string): Promise<string> {
  const response = await service.post('/v2/pools', { name });
  expect(response.status, response.text).toBe(201);
  return response.body.id as string;
}

describe('with tsigkeys.requireResource', () => {
  let service: TestService;
  let zoneId: string;
  beforeAll(async () => {
    service = await startTestService({ TSIGIL_TSIGKEYS_REQUIRE_RESOURCE: 'true' });
    // The zone and the caller are in different projects. This difference must have no effect.
    const response = await service.post('/v2/zones', primary('keyed.example.'), {
      'x-auth-sudo-project-id': 'red',
    });
    zoneId = response.body.id;
  });

  test('201 for a key of an existing pool or zone, 400 once it is deleted', async () => {
    await keep(service, 'POOL', POOL_ID);
    expect((await keep(service, 'ZONE', zoneId.toUpperCase())).resource_id).toBe(zoneId);
    const { id } = await createZone(service, primary('short.example.'));
    const pool = await createPool(service, 'short');
    for (const [scope, collection, own] of [
      ['ZONE', 'zones', id],
      ['POOL', 'pools', pool],
    ] as const) {
      await keep(service, scope, own);
      await service.delete(`/v2/${collection}/${own}`);
      expectError(await service.post('/v2/tsigkeys', key(scope, own)), 400, 'invalid_tsigkey');
    }
  });

  test.each([
    ['POOL', () => UNKNOWN_ID, 'pool'],
    ['ZONE', () => UNKNOWN_ID, 'zone'],
    ['POOL', () => zoneId, 'pool'],
    ['ZONE', () => POOL_ID, 'zone'],
  ])('400 for the scope %s and the id of another resource type', async (scope, id, noun) => {
    const message = expectError(
      await service.post('/v2/tsigkeys', key(scope, id())),
      400,
      'invalid_tsigkey',
    );
    expect(message).toContain(id());
    expect(message).toContain(`not the id of an existing ${noun}`);
  });

  test('200 for a change of scope or resource_id to a valid pair, 400 for a change to an invalid pair', async () => {
    const { id } = await keep(service, 'POOL', POOL_ID);
    const path = `/v2/tsigkeys/${id}`;
    for (const wrong of [
      { scope: 'ZONE' },
      { resource_id: zoneId },
      { resource_id: UNKNOWN_ID },
      { scope: 'ZONE', resource_id: UNKNOWN_ID },
    ]) {
      expectError(await service.patch(path, { ...wrong, name: 'lost' }), 400, 'invalid_tsigkey');
      expect((await service.get(path)).body).toMatchObject({
        scope: 'POOL',
        resource_id: POOL_ID,
        updated_at: null,
      });
    }
    for (const right of [
      { scope: 'POOL' },
      { resource_id: POOL_ID },
      { scope: 'ZONE', resource_id: zoneId },
      { scope: 'ZONE' },
      {},
    ]) {
      const { status, body } = await service.patch(path, right);
      expect({ status, ...body }).toMatchObject({ status: 200, ...right });
    }
  });

  test('400 for a change of scope or resource_id of a key whose zone is deleted, 200 for other changes', async () => {
    const { id: gone } = await createZone(service, primary('gone.example.'));
    const { id } = await keep(service, 'ZONE', gone);
    await service.delete(`/v2/zones/${gone}`);
    const path = `/v2/tsigkeys/${id}`;
    expect(
      (await service.patch(path, { name: 'still-here', secret: 'x', algorithm: 'hmac-sha512' }))
        .status,
    ).toBe(200);
    expect((await service.patch(path, {})).status).toBe(200);
    expectError(await service.patch(path, { scope: 'ZONE' }), 400, 'invalid_tsigkey');
    expectError(await service.patch(path, { resource_id: gone }), 400, 'invalid_tsigkey');
    expect((await service.patch(path, { scope: 'POOL', resource_id: POOL_ID })).status).toBe(200);
  });

  test('400 for an unknown resource comes before 409 for the name', async () => {
    const { name } = await keep(service, 'POOL', POOL_ID);
    expectError(
      await service.post('/v2/tsigkeys', { ...key('POOL', UNKNOWN_ID), name }),
      400,
      'invalid_tsigkey',
    );
    expectError(
      await service.post('/v2/tsigkeys', { ...key('POOL', POOL_ID), name }),
      409,
      'duplicate_tsigkey',
    );
  });
});

describe('without tsigkeys.requireResource', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const orphans = async (query = '') =>
    itemsOf(await service.get(`/v2/tsigkeys?orphaned=true${query}`), TSIGKEYS).map(
      ({ name }) => name,
    );
  const others = async () =>
    itemsOf(await service.get('/v2/tsigkeys?orphaned=false'), TSIGKEYS).map(({ name }) => name);

  test('200 with the orphaned keys after their pool or zone is deleted, and the keys do not change', async () => {
    const zone = await createZone(service, primary('keyed.example.'));
    const pool = await createPool(service, 'keyed');
    const keys = [];
    for (const [scope, id] of [
      ['ZONE', zone.id],
      ['POOL', POOL_ID],
      ['POOL', pool],
      ['ZONE', zone.id],
      ['ZONE', pool],
      ['POOL', zone.id],
    ] as const) {
      keys.push(await keep(service, scope, id));
    }
    const [ofZone, ofDefault, ofPool, alsoOfZone, wrongPool, wrongZone] = keys.map(
      ({ name }) => name,
    );
    // A key is also orphaned if it has scope ZONE and the id of a pool, or scope POOL and the id of
    // a zone.
    expect([await orphans(), await others()]).toEqual([
      [wrongPool, wrongZone],
      [ofZone, ofDefault, ofPool, alsoOfZone],
    ]);
    await service.delete(`/v2/zones/${zone.id}`);
    expect([await orphans(), await others()]).toEqual([
      [ofZone, alsoOfZone, wrongPool, wrongZone],
      [ofDefault, ofPool],
    ]);
    await service.delete(`/v2/pools/${pool}`);
    expect([await orphans(), await others()]).toEqual([
      [ofZone, ofPool, alsoOfZone, wrongPool, wrongZone],
      [ofDefault],
    ]);

    expect(await orphans('&scope=POOL')).toEqual([ofPool, wrongZone]);
    expect(await orphans(`&resource_id=${zone.id}&sort_dir=desc`)).toEqual([
      wrongZone,
      alsoOfZone,
      ofZone,
    ]);
    for (const before of keys)
      expect((await service.get(`/v2/tsigkeys/${before.id}`)).body).toEqual(before);
    for (const { id } of keys)
      expect((await service.delete(`/v2/tsigkeys/${id}`)).status).toBe(204);
  });

  test('200 with the keys that no name server can use for unusable=true, also after updates', async () => {
    const unusable = async () =>
      itemsOf(await service.get('/v2/tsigkeys?unusable=true'), TSIGKEYS).map(({ name }) => name);
    const body = (name: string, secret?: string) => ({ ...KEY_MEMBERS, name, secret });
    const made = async (given: object) =>
      (await service.post('/v2/tsigkeys', given)).body.id as string;
    await made(body('usable'));
    const named = await made(body('Example key'));
    const odd = await made(body('odd', 'SomeSecretKey'));
    expect(await unusable()).toEqual(['Example key', 'odd']);
    await service.patch(`/v2/tsigkeys/${named}`, { name: 'example-key' });
    await service.patch(`/v2/tsigkeys/${odd}`, { algorithm: 'hmac-sha512' });
    expect(await unusable()).toEqual(['odd']);
    await service.patch(`/v2/tsigkeys/${odd}`, { secret: SECRET });
    expect(await unusable()).toEqual([]);
    expect(
      itemsOf(await service.get('/v2/tsigkeys?unusable=false&name=odd'), TSIGKEYS),
    ).toHaveLength(1);
    for (const name of ['usable', 'example-key', 'odd'])
      for (const { id } of itemsOf(await service.get(`/v2/tsigkeys?name=${name}`), TSIGKEYS))
        await service.delete(`/v2/tsigkeys/${id}`);
  });

  test.each(['', 'yes', 'True', '1', 'true&orphaned=true'])(
    '400 for orphaned=%s',
    async (value) => {
      expectError(await service.get(`/v2/tsigkeys?orphaned=${value}`), 400, 'bad_request');
    },
  );
});
