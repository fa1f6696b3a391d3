import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import { expectDocumented, readDocument } from '../harness/description.ts';
import { expectError, POOL_ID, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor, primary, secondary, ZONE_MEMBERS } from '../harness/zones.ts';

let service: TestService;
let api: ApiDocument;
beforeAll(async () => {
  service = await startTestService({ TSIGIL_COMPATIBILITY: 'designate' });
  api = await readDocument(service);
});

describe('a zone with compatibility: designate', () => {
  test('202 with status PENDING and action CREATE for a creation, then 200 with ACTIVE and NONE for a GET', async () => {
    for (const body of [primary('a.example.'), secondary('b.example.')]) {
      const created = await service.post('/v2/zones', body);
      expect(created.status, created.text).toBe(202);
      expectDocumented(api, '/v2/zones', 'POST', created);
      expect(Object.keys(created.body)).toEqual(ZONE_MEMBERS);
      expect(created.body).toMatchObject({ ...body, status: 'PENDING', action: 'CREATE' });
      expect(created.headers.get('location')).toBe(created.body.links.self);
      const read = await service.get(`/v2/zones/${created.body.id}`);
      expect([read.status, read.body]).toEqual([
        200,
        { ...created.body, status: 'ACTIVE', action: 'NONE' },
      ]);
    }
  });

  test('202 with status PENDING and action UPDATE for an update, then 200 with ACTIVE and NONE for a GET', async () => {
    const { id } = (await service.post('/v2/zones', primary('changed.example.'))).body;
    const updated = await service.patch(`/v2/zones/${id}`, { ttl: 60 });
    expect(updated.status).toBe(202);
    expectDocumented(api, '/v2/zones/{id}', 'PATCH', updated);
    expect(updated.body).toMatchObject({ ttl: 60, status: 'PENDING', action: 'UPDATE' });
    expect((await service.get(`/v2/zones/${id}`)).body).toEqual({
      ...updated.body,
      status: 'ACTIVE',
      action: 'NONE',
    });
  });

  test('202 with status PENDING and action DELETE for a deletion, then 404 for a GET', async () => {
    const { id } = (await service.post('/v2/zones', primary('deleted.example.'))).body;
    const { status, body } = await service.delete(`/v2/zones/${id}`);
    expect([status, body.id, body.status, body.action]).toEqual([202, id, 'PENDING', 'DELETE']);
    expectError(await service.get(`/v2/zones/${id}`), 404, 'zone_not_found');
  });

  test('200 for a list with ACTIVE zones only, and no zone matches status=PENDING', async () => {
    await service.post('/v2/zones', primary('listed.example.'));
    const { body } = await service.get('/v2/zones?status=PENDING');
    expect(body.zones).toEqual([]);
    const zones = (await service.get('/v2/zones')).body.zones as { status: string }[];
    expect(new Set(zones.map(({ status }) => status))).toEqual(new Set(['ACTIVE']));
  });

  test('201 for a creation and 200 for an update if zones.pendingStatus is false', async () => {
    const other = await startTestService({
      TSIGIL_COMPATIBILITY: 'designate',
      TSIGIL_ZONES_PENDING_STATUS: 'false',
    });
    const created = await other.post('/v2/zones', primary('a.example.'));
    expect([created.status, created.body.status]).toEqual([201, 'ACTIVE']);
    expect((await other.patch(`/v2/zones/${created.body.id}`, { ttl: 1 })).status).toBe(200);
  });
});

describe('other resources with compatibility: designate', () => {
  test('201 for creations and 200 for updates, as without compatibility', async () => {
    const tld = await service.post('/v2/tlds', { name: 'example' });
    expect(tld.status).toBe(201);
    expect((await service.patch(`/v2/tlds/${tld.body.id}`, { description: 'd' })).status).toBe(200);
    const pool = await service.post('/v2/pools', { name: 'p', project_id: 'red' });
    expect([pool.status, pool.body.project_id]).toEqual([201, 'red']);
  });

  test('403 for insufficient rights, 20 items per page, any suffix as a TLD, 201 for keys of unknown pools', async () => {
    const reader = await clientFor(service, ['reader'], 'red');
    expectError(await reader.get('/v2/tlds'), 403, 'forbidden');
    for (let index = 0; index < 25; index += 1)
      expect((await service.post('/v2/tlds', { name: `t${index}.example` })).status).toBe(201);
    expect((await service.get('/v2/tlds')).body.tlds).toHaveLength(20);
    const zone = await service.post('/v2/zones', primary('x.t1.example.'));
    expect(zone.status, zone.text).toBe(202);
    const key = (resourceId: string) => ({
      name: `key-${resourceId}`,
      algorithm: 'hmac-sha256',
      scope: 'POOL',
      resource_id: resourceId,
    });
    expect((await service.post('/v2/tsigkeys', key(POOL_ID))).status).toBe(201);
    expect((await service.post('/v2/tsigkeys', key(UNKNOWN_ID))).status).toBe(201);
    expect((await service.get('/v2/limits')).body.max_zones).toBe(10);
  });
});

test.each([
  [`/v2/zones/${UNKNOWN_ID}/recordsets`, 'record sets'],
  ['/v2/recordsets', 'record sets'],
  [`/v2/zones/${UNKNOWN_ID}/tasks/transfer_requests`, 'transfers of zones between projects'],
  [`/v2/zones/tasks/transfer_accepts/${UNKNOWN_ID}`, 'transfers of zones between projects'],
  ['/v2/zones/tasks/imports', 'imports of zones'],
  [`/v2/zones/${UNKNOWN_ID}/tasks/export`, 'exports of zones'],
  [`/v2/zones/${UNKNOWN_ID}/tasks/abandon`, "task 'abandon' for zones"],
  [`/v2/zones/${UNKNOWN_ID}/tasks/xfr`, "task 'xfr' for zones"],
  [`/v2/zones/${UNKNOWN_ID}/tasks/pool_move`, "task 'pool_move' for zones"],
  [`/v2/zones/${UNKNOWN_ID}/shares/${UNKNOWN_ID}`, 'shared zones'],
  ['/v2/blacklists?limit=1', 'denylists of zone names'],
  ['/v2/reverse/floatingips/RegionOne:1', 'PTR records of floating IPs'],
  ['/v2/quotas/red', 'quotas for single projects'],
  ['/v2/service_statuses', 'service statuses'],
])("404 with what the service lacks at Designate's path %s", async (path, what) => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
    expect(expectError(await service.call(method, path), 404, 'not_found')).toMatch(
      new RegExp(`^This path does not exist: Tsigil has no ${what}(?:: |$)`),
    );
});

test('404 without a reason for any other path, and 401 without a token', async () => {
  for (const path of ['/v2/constructor', '/v2/tlds/x/quotas', '/v2/tlds/x/tasks/y'])
    expect(expectError(await service.get(path), 404, 'not_found')).toBe('This path does not exist');
  expectError(await service.with('wrong').get('/v2/recordsets'), 401, 'unauthorized');
});
