import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { auditRecords } from '../harness/audit.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';

const SECRET = 'c2VjcmV0LW9mLXRoZS1hdWRpdC10ZXN0cy0wMTIzNDU=';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const records = () => auditRecords(`sqlite:${join(service.folder, 'tsigil.db')}`);

test('each creation, update and deletion adds one record, with the values before and after', async () => {
  const headers = { 'x-openstack-request-id': `req-${randomUUID()}` };
  const created = await service.post('/v2/tlds', { name: 'com', description: 'first' }, headers);
  const { id } = created.body as { id: string };
  await service.patch(`/v2/tlds/${id}`, { description: 'second' });
  await service.delete(`/v2/tlds/${id}`);
  const trail = await records();
  expect(trail).toMatchObject([
    {
      request_id: created.headers.get('x-openstack-request-id'),
      global_request_id: headers['x-openstack-request-id'],
      actor_kind: 'token',
      actor_id: 'configured',
      actor_name: 'admin',
      roles: ['admin'],
      project_id: 'admin',
      source: '127.0.0.1',
      action: 'tlds:create',
      resource_type: 'tlds',
      resource_id: id,
      resource_name: 'com',
      outcome: 'success',
      detail: { changes: { name: [null, 'com'], description: [null, 'first'] } },
    },
    {
      global_request_id: null,
      action: 'tlds:update',
      detail: { changes: { description: ['first', 'second'] } },
    },
    {
      action: 'tlds:delete',
      resource_id: id,
      detail: { changes: { name: ['com', null], description: ['second', null] } },
    },
  ]);
  expect(trail).toHaveLength(3);
});

test('a refused change adds no record of a change', async () => {
  await service.post('/v2/tlds', { name: 'com' });
  expect((await service.post('/v2/tlds', { name: 'com' })).status).toBe(409);
  expect((await service.post('/v2/tlds', { name: '' })).status).toBe(400);
  expect((await records()).filter(({ outcome }) => outcome === 'success')).toHaveLength(1);
});

test('each bulk request adds one record, with counts and at most 100 names', async () => {
  const tlds = Array.from({ length: 150 }, (_, index) => ({ name: `tld${index}` }));
  expect((await service.post('/v2/tlds/bulk', { tlds })).status).toBe(200);
  expect((await service.post('/v2/tlds/bulk', { tlds })).status).toBe(200); // changes nothing
  const trail = await records();
  expect(trail).toMatchObject([
    {
      action: 'tlds:bulk',
      resource_type: 'tlds',
      resource_id: null,
      detail: { counts: { create: 150 } },
    },
  ]);
  expect(trail[0]?.detail.names).toHaveLength(100);
});

test('a record contains exactly the members of a key that responses show', async () => {
  const key = { name: 'key', ...KEY_MEMBERS };
  const created = await service.post('/v2/tsigkeys', key);
  await service.patch(`/v2/tsigkeys/${created.body.id}`, { algorithm: 'hmac-sha512' });
  const token = await service.post('/v2/tokens', { name: 'robot', roles: ['reader'] });
  const [creation, update, ofToken] = (await records()).map(({ detail }) => detail.changes);
  expect(Object.keys(creation ?? {}).sort()).toEqual([...Object.keys(key), 'secret'].sort());
  expect(update).toEqual({ algorithm: ['hmac-sha256', 'hmac-sha512'] });
  expect(Object.keys(token.body)).toEqual(expect.arrayContaining(Object.keys(ofToken ?? {})));
});

test('no record contains a secret, a token or its hash', async () => {
  const key = { name: 'key', ...KEY_MEMBERS };
  const created = await service.post('/v2/tsigkeys', { ...key, secret: SECRET });
  await service.patch(`/v2/tsigkeys/${created.body.id}`, {
    secret: 'b3RoZXItc2VjcmV0LW9mLXRlc3Rz',
  });
  await service.delete(`/v2/tsigkeys/${created.body.id}`);
  const token = await service.post('/v2/tokens', { name: 'robot', roles: ['reader'] });
  await service.post('/v2/tlds', { name: 'com', description: `pasted ${token.body.token}` });
  // A caller can paste a token by mistake into the name of another token or into an attribute.
  const misnamed = await service.post('/v2/tokens', {
    name: token.body.token as string,
    roles: ['admin'],
  });
  const pool = await service.with(misnamed.body.token as string).post('/v2/pools', {
    name: 'pool',
    attributes: { note: token.body.token as string },
  });
  expect(pool.status).toBe(201);
  const text = JSON.stringify(await records());
  expect(text).toContain('"actor_name":"(a token)"');
  expect(text).toContain('{"note":"(a token)"}');
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain('b3RoZXItc2VjcmV0LW9mLXRlc3Rz');
  expect(text).not.toContain(token.body.token);
  expect(service.log.join('')).not.toContain(token.body.token);
  expect(text).toContain('pasted (a token)');
  expect(text).not.toMatch(/[0-9a-f]{64}/);
});
