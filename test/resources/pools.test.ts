import { beforeAll, describe, expect, test } from 'vitest';
import { expectError, POOL_ID, problemsOf, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor, createZone, primary } from '../harness/zones.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let count = 0;
/** Returns a body that creates a pool with a new name. */
const pool = (members: Record<string, unknown> = {}) => ({
  name: `pool-${(count += 1)}`,
  ...members,
});

async function createPool(members: Record<string, unknown> = {}) {
  const response = await service.post('/v2/pools', pool(members));
  expect(response.status, response.text).toBe(201);
  return response.body;
}

describe('the default pool', () => {
  test('200 for the default pool in a new service', async () => {
    const fresh = await startTestService();
    const { status, body } = await fresh.get(`/v2/pools/${POOL_ID}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: POOL_ID,
      project_id: null,
      name: 'default',
      description: null,
      attributes: {},
      ns_records: [],
      updated_at: null,
    });
    expect((await fresh.get('/v2/pools')).body).toEqual({
      pools: [body],
      links: { self: `${fresh.url}/v2/pools` },
    });
  });

  test('400 for a deletion of the default pool, 202 for an update', async () => {
    expectError(await service.delete(`/v2/pools/${POOL_ID}`), 400, 'invalid_operation');
    const { status, body } = await service.patch(`/v2/pools/${POOL_ID}`, {
      description: 'All zones',
    });
    expect([status, body.id, body.name, body.description]).toEqual([
      202,
      POOL_ID,
      'default',
      'All zones',
    ]);
  });
});

describe('a pool', () => {
  test("201 with the given or the caller's project, which gets no rights and cannot be changed", async () => {
    const ofNoProject = await clientFor(service, ['admin'], null);
    expect((await ofNoProject.post('/v2/pools', pool())).body.project_id).toBeNull();
    const member = await clientFor(service, ['member'], 'red');
    for (const [given, project] of [
      ['red', 'red'],
      [null, 'admin'],
    ]) {
      const created = await createPool({ project_id: given });
      expect(created.project_id).toBe(project);
      const path = `/v2/pools/${created.id}`;
      const same = await service.patch(path, { project_id: project });
      expect([same.status, same.body.project_id]).toEqual([202, project]);
      expect(problemsOf(await service.patch(path, { project_id: 'blue' }))).toEqual([
        'project_id: immutable',
      ]);
      expectError(await member.get(path), 401, 'access_denied');
    }
  });

  test('400 for the deletion of a pool with zones of any project, 204 once the zones are deleted', async () => {
    const { id } = await createPool();
    const sudo = { 'x-auth-sudo-project-id': 'red' };
    const zone = await service.post(
      '/v2/zones',
      primary('in-pool.example.', { pool_id: id }),
      sudo,
    );
    expect(zone.status, zone.text).toBe(201);
    const refusal = 'The pool has zones and cannot be deleted. Delete the zones first';
    const deletion = (headers?: Record<string, string>) =>
      service.delete(`/v2/pools/${id}`, headers);
    expect(expectError(await deletion(), 400, 'invalid_operation')).toBe(refusal);
    expect(expectError(await deletion(sudo), 400, 'invalid_operation')).toBe(
      `${refusal}: 'in-pool.example.'`,
    );
    expect((await service.get(`/v2/pools/${id}`)).status).toBe(200);
    expect((await service.delete(`/v2/zones/${zone.body.id}`, sudo)).status).toBe(202);
    expect((await service.delete(`/v2/pools/${id}`)).status).toBe(204);
  });

  test('200 for the filter by name, 400 for other filters and sort keys', async () => {
    const made = [await createPool({ name: 'zz-b' }), await createPool({ name: 'zz-a' })];
    const ids = async (query: string) =>
      (await service.get(`/v2/pools?${query}`)).body.pools.map(({ id }: { id: string }) => id);
    expect(await ids('name=zz-*')).toEqual(made.map(({ id }) => id));
    expect(await ids('name=ZZ-a')).toEqual([]);
    expectError(await service.get('/v2/pools?description=x'), 400, 'bad_request');
    expectError(await service.get('/v2/pools?sort_key=ttl'), 400, 'invalid_sort_key');
  });
});

describe('the pool of a new zone', () => {
  test('201 with the pool in pool_id or in the attribute pool_id, for any spelling of the id', async () => {
    const { id } = await createPool();
    const plain = id.replaceAll('-', '').toUpperCase();
    for (const [index, members] of [
      { pool_id: id },
      { attributes: { pool_id: id } },
      { pool_id: id, attributes: { pool_id: plain } },
      { pool_id: plain },
    ].entries()) {
      const zone = await createZone(service, primary(`zone-${index}.choice.`, members));
      expect(zone).toMatchObject({ pool_id: id, attributes: members.attributes ?? {} });
      expect((await service.get(`/v2/zones/${zone.id}`)).body).toEqual(zone);
    }
  });

  test('201 for an existing name in another pool, 409 in the same pool', async () => {
    const { id } = await createPool();
    await createZone(service, primary('twice.example.'));
    await createZone(service, primary('twice.example.', { pool_id: id }));
    for (const members of [{}, { pool_id: POOL_ID }, { attributes: { pool_id: id } }]) {
      expectError(
        await service.post('/v2/zones', primary('Twice.example.', members)),
        409,
        'duplicate_zone',
      );
    }
  });

  test('404 for an unknown pool, or for different pools in pool_id and the attribute', async () => {
    const { id } = await createPool();
    const wrong = [
      { pool_id: UNKNOWN_ID },
      { attributes: { pool_id: UNKNOWN_ID } },
      { attributes: { pool_id: 'gold' } },
      { pool_id: id, attributes: { pool_id: POOL_ID } },
    ];
    for (const members of wrong)
      expectError(
        await service.post('/v2/zones', primary('nowhere.example.', members)),
        404,
        'no_valid_pool_found',
      );
  });

  test('401 for a member who chooses a pool other than the default pool, 201 for the default pool', async () => {
    const { id } = await createPool();
    const member = await clientFor(service, ['member'], 'red');
    for (const members of [
      { pool_id: id },
      { attributes: { pool_id: id } },
      { pool_id: UNKNOWN_ID },
      { attributes: { pool_id: 'gold' } },
    ]) {
      expectError(
        await member.post('/v2/zones', primary('chosen.red.', members)),
        401,
        'access_denied',
      );
    }
    for (const [index, members] of [
      { pool_id: POOL_ID },
      { pool_id: null },
      { attributes: { pool_id: POOL_ID } },
      { attributes: { tier: 'gold' } },
    ].entries()) {
      expect((await createZone(member, primary(`zone-${index}.red.`, members))).pool_id).toBe(
        POOL_ID,
      );
    }
  });
});
