import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { expectError, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import {
  clientFor,
  createTlds,
  createZone,
  primary,
  secondary,
  zoneNamesOf,
  type Zone,
} from '../harness/zones.ts';

const ALL = { 'x-auth-all-projects': 'True' };

let service: TestService;
let red: Client;
let blue: Client;
let redZone: Zone;
beforeAll(async () => {
  service = await startTestService();
  red = await clientFor(service, ['member'], 'red');
  blue = await clientFor(service, ['MEMBER'], 'blue');
  redZone = await createZone(red, primary('red.example.'));
});

/** Sends requests to read, update and delete a zone. */
function requestsAbout(client: Client, { id }: Zone, headers?: Record<string, string>) {
  return [
    client.get(`/v2/zones/${id}`, headers),
    client.patch(`/v2/zones/${id}`, { ttl: 5 }, headers),
    client.delete(`/v2/zones/${id}`, headers),
  ] as const;
}

describe("a project's zones", () => {
  test.each([
    ['a member of another project', ['member'], 'blue'],
    ['an administrator of another project', ['admin'], 'blue'],
    ['a member of no project', ['member'], null],
  ])('404 for %s, and the lists of this caller contain no zones', async (_who, roles, project) => {
    const client = await clientFor(service, roles, project);
    for (const response of await Promise.all(requestsAbout(client, redZone))) {
      expect(expectError(response, 404, 'zone_not_found')).toBe('Could not find Zone');
    }
    expect(zoneNamesOf(await client.get('/v2/zones'))).toEqual([]);
    expect((await client.get('/v2/zones')).body.metadata).toEqual({ total_count: 0 });
    expect((await red.get(`/v2/zones/${redZone.id}`)).body).toEqual(redZone);
  });

  test('200 for all zones and 401 for a change if a caller without a project may only read them', async () => {
    for (const role of ['auditor', 'keymanager', 'admin']) {
      const client = await clientFor(service, [role, 'member'], null);
      expect(zoneNamesOf(await client.get('/v2/zones')), role).toContain('red.example.');
      const path = `/v2/zones/${redZone.id}`;
      expect((await client.get(path)).status).toBe(200);
      const mayChange = role === 'admin';
      expect([role, (await client.patch(path, {})).status]).toEqual([role, mayChange ? 200 : 404]);
      if (!mayChange) expect((await client.delete(path)).status).toBe(404);
    }
    expect(
      zoneNamesOf(await (await clientFor(service, ['reader'], null)).get('/v2/zones')),
    ).toEqual([]);
  });

  test('200 and 201 for a member of another project who manages keys and reads all projects, but 401 for a change of the zone', async () => {
    const both = await clientFor(service, ['member', 'keymanager'], 'blue');
    const [shown, patched, deleted] = await Promise.all(requestsAbout(both, redZone, ALL));
    expect(shown.status).toBe(200);
    for (const response of [patched, deleted]) expectError(response, 401, 'access_denied');
    const key = { name: 'of-red', algorithm: 'hmac-sha256', zone: 'red.example.' };
    expect((await both.post('/v2/tsigkeys', key, ALL)).status).toBe(201);
  });
});

describe('request-context headers', () => {
  test('200 and 202 for an administrator who selects all projects by a header or a parameter', async () => {
    const zone = await createZone(blue, primary('blue.example.'));
    for (const list of ['/v2/zones?all_projects=true', '/v2/zones?all_tenants=1']) {
      const response = await service.get(list);
      expect(zoneNamesOf(response)).toEqual(['red.example.', 'blue.example.']);
      expect(response.body.metadata).toEqual({ total_count: 2 });
      expect(response.body.links.self).toBe(`${service.url}/v2/zones`);
    }
    expect(zoneNamesOf(await service.get('/v2/zones', ALL))).toEqual([
      'red.example.',
      'blue.example.',
    ]);
    expect(zoneNamesOf(await service.get('/v2/zones?all_projects=false'))).toEqual([]);
    expect((await service.get(`/v2/zones/${zone.id}?all_projects=y`)).body).toEqual(zone);
    expect((await service.patch(`/v2/zones/${zone.id}`, { ttl: 5 }, ALL)).body).toMatchObject({
      project_id: 'blue',
      ttl: 5,
    });
    expect((await service.delete(`/v2/zones/${zone.id}`, ALL)).status).toBe(202);
    expect((await blue.get(`/v2/zones/${zone.id}`)).status).toBe(404);
  });

  test.each(['X-Auth-Sudo-Project-ID', 'X-Auth-Sudo-Tenant-ID'])(
    '201, 200 and 202 for an administrator who selects a project by %s',
    async (header) => {
      const sudo = { [header]: 'blue' };
      const created = await service.post('/v2/zones', primary('sudo.example.'), sudo);
      expect([created.status, created.body.project_id]).toEqual([201, 'blue']);
      expect(zoneNamesOf(await blue.get('/v2/zones'))).toEqual(['sudo.example.']);
      expect(zoneNamesOf(await service.get('/v2/zones', sudo))).toEqual(['sudo.example.']);
      expect((await service.get(`/v2/zones/${redZone.id}`, sudo)).status).toBe(404);
      expect((await service.delete(`/v2/zones/${created.body.id}`, sudo)).status).toBe(202);
    },
  );

  test.each(['', ' ', 'a b', 'a/b', 'x'.repeat(65), 'é'])(
    '400 for an invalid project in X-Auth-Sudo-Project-ID, no effect of a blank project: %j',
    async (project) => {
      const response = await service.post('/v2/zones', primary('strange.example.'), {
        'x-auth-sudo-project-id': project,
      });
      if (project.trim() === '') expect(response.body.project_id).toBe('admin');
      else expectError(response, 400, 'bad_request');
      if (response.status === 201) await service.delete(`/v2/zones/${response.body.id}`);
    },
  );
});

describe('zones above and below zones of another project', () => {
  let parent: Zone;
  beforeAll(async () => {
    parent = await createZone(red, primary('Around.example.'));
  });

  test('409 for the same name in any case, even in another pool', async () => {
    const { body: pool } = await service.post('/v2/pools', { name: 'another' });
    for (const body of [primary('around.EXAMPLE.'), secondary('around.example.')])
      expect(expectError(await blue.post('/v2/zones', body), 409, 'duplicate_zone')).toBe(
        'Duplicate Zone',
      );
    const all = await service.post('/v2/zones', primary('around.example.'), ALL);
    expect(expectError(all, 409, 'duplicate_zone')).toContain(parent.id);
    const elsewhere = primary('around.example.', { pool_id: pool.id });
    expectError(
      await service.post('/v2/zones', elsewhere, { 'x-auth-sudo-project-id': 'blue' }),
      409,
      'duplicate_zone',
    );
  });

  test.each(['sub.around.example.', 'a.b.c.AROUND.example.'])(
    '403 for %s, below a zone of another project',
    async (name) => {
      expectError(await blue.post('/v2/zones', primary(name)), 403, 'illegal_child');
      expectError(await service.post('/v2/zones', primary(name), ALL), 403, 'illegal_child');
      const { id } = await createZone(red, primary(name));
      await red.delete(`/v2/zones/${id}`);
    },
  );

  test('403 for a name above a zone of another project', async () => {
    const deep = await createZone(red, primary('x.y.Deep.sub.example.'));
    for (const name of ['deep.sub.example.', 'y.deep.SUB.example.', 'sub.example.']) {
      expectError(await blue.post('/v2/zones', primary(name)), 403, 'illegal_parent');
    }
    const own = await createZone(red, primary('sub.example.'));
    for (const { id } of [deep, own])
      expect((await red.delete(`/v2/zones/${id}`)).status).toBe(202);
  });

  test('201 once the zone of the other project is deleted', async () => {
    await red.delete(`/v2/zones/${parent.id}`);
    for (const name of ['sub.around.example.', 'around.example.'])
      await createZone(blue, primary(name));
  });
});

test('413 for a zone above the quota of its project, even for concurrent creations', async () => {
  const limited = await startTestService({ TSIGIL_ZONES_PER_PROJECT: '2' });
  const client = await clientFor(limited, ['member'], 'red');
  const first = await createZone(client, primary('a.example.'));
  await createZone(client, secondary('b.example.'));
  expect(
    expectError(await client.post('/v2/zones', primary('c.example.')), 413, 'over_quota'),
  ).toBe('Quota exceeded for zones.');
  await createZone(await clientFor(limited, ['member'], 'blue'), primary('d.example.'));
  await client.delete(`/v2/zones/${first.id}`);
  const responses = await Promise.all(
    ['e', 'f', 'g'].map((name) => client.post('/v2/zones', primary(`${name}.example.`))),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([201, 413, 413]);
});

test('the first failed check of a new zone determines the error', async () => {
  const limited = await startTestService({ TSIGIL_ZONES_PER_PROJECT: '1' });
  const [full, empty, reader] = await Promise.all([
    clientFor(limited, ['member'], 'full'),
    clientFor(limited, ['member'], 'empty'),
    clientFor(limited, ['reader'], 'full'),
  ]);
  const none = await clientFor(limited, ['member'], null);
  await createTlds(limited, 'example');
  await createZone(full, primary('taken.example.'));
  const bad = { pool_id: UNKNOWN_ID };
  // Rights, body, type of zone, project, quota, name, zones of other projects, right to choose a
  // pool, pool.
  for (const [client, body, status, type] of [
    [reader, '{', 401, 'access_denied'],
    [none, { name: 'taken.example', type: 'CATALOG' }, 400, 'invalid_object'],
    [none, primary('taken.org.', { type: 'CATALOG', ...bad }), 403, 'forbidden'],
    [none, primary('taken.org.', bad), 401, 'missing_project_id'],
    [full, primary('x.org.', bad), 413, 'over_quota'],
    [full, primary('taken.example.'), 413, 'over_quota'],
    [empty, primary('x.org.', bad), 400, 'invalid_zone_name'],
    [empty, primary('taken.example.', bad), 409, 'duplicate_zone'],
    [empty, primary('sub.taken.example.', bad), 403, 'illegal_child'],
    [empty, primary('free.example.', bad), 401, 'access_denied'],
    [limited, primary('free.example.', bad), 404, 'no_valid_pool_found'],
  ] as const)
    expectError(await client.post('/v2/zones', body), status, type);
});
