import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { create, expectError, itemsOf, TLDS, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const caller = (service: TestService, ...roles: string[]) =>
  clientFor(service, roles, 'own-project');

const RESEMBLING = ['administrator', 'admin:', 'dmin', 'member:admin'];

let service: TestService;
let member: Client;

describe('by default', () => {
  beforeAll(async () => {
    // A token can have only roles in the policy. The policy therefore includes `RESEMBLING`.
    const roles = ['admin', ...RESEMBLING];
    service = await startTestService({ TSIGIL_POLICY: JSON.stringify({ hard_delete: roles }) });
    member = await caller(service, 'member', 'reader');
  });

  test('401 comes before errors about ids, unknown resources, media types, JSON and members', async () => {
    const existing = await create(service, TLDS, 'exists');
    for (const client of [member, service.with('unknown-token')]) {
      for (const id of ['foo', UNKNOWN_ID, existing.id]) {
        for (const method of ['GET', 'DELETE'])
          expect((await client.call(method, `/v2/tlds/${id}`)).status).toBe(401);
        for (const body of ['{bad', '', '{"junk":1}']) {
          expect((await client.patch(`/v2/tlds/${id}`, body)).status).toBe(401);
          expect(
            (await client.patch(`/v2/tlds/${id}`, body, { 'content-type': 'text/plain' })).status,
          ).toBe(401);
        }
      }
      for (const body of ['{bad', '', '{"junk":1}', '{"name":"exists"}'])
        expect((await client.post('/v2/tlds', body)).status).toBe(401);
    }
    expect((await service.get(`/v2/tlds/${existing.id}`)).body).toEqual(existing);
  });

  test.each(RESEMBLING)('401 for the role %s', async (role) => {
    expectError(await (await caller(service, role)).get('/v2/tlds'), 401, 'access_denied');
  });
});

describe('with auth.insufficientRightsStatus 403', () => {
  beforeAll(async () => {
    service = await startTestService({ TSIGIL_AUTH_INSUFFICIENT_RIGHTS_STATUS: '403' });
    member = await caller(service, 'member');
  });

  test('403 for a request-context header, and 401 without a token', async () => {
    expectError(await member.get('/v2/tlds', { 'x-auth-all-projects': 'true' }), 403, 'forbidden');
    expect((await service.with('unknown-token').get('/v2/tlds')).status).toBe(401);
  });
});

describe('with a configured policy', () => {
  let reader: Client;
  beforeAll(async () => {
    service = await startTestService({
      TSIGIL_POLICY:
        '{"tlds:list": [admin, Reader], "tlds:get": [reader], "all_projects": [admin, reader]}',
    });
    reader = await caller(service, 'reader');
  });

  test('200 for the operations in the policy, but only with the roles in the policy', async () => {
    const { id } = await create(service, TLDS, 'com');
    expect(itemsOf(await reader.get('/v2/tlds'), TLDS)).toHaveLength(1);
    expect((await reader.call('HEAD', '/v2/tlds')).status).toBe(200);
    expect((await reader.get(`/v2/tlds/${id}`)).status).toBe(200);
    expect((await service.get('/v2/tlds')).status).toBe(200);
    expectError(await service.get(`/v2/tlds/${id}`), 401, 'access_denied');
    expectError(await (await caller(service, 'member')).get('/v2/tlds'), 401, 'access_denied');
  });

  test('200 for the request context that the policy allows, 401 for another request context', async () => {
    expect((await reader.get('/v2/tlds?all_projects=true')).status).toBe(200);
    expectError(
      await reader.get('/v2/tlds', { 'x-auth-sudo-project-id': 'p' }),
      401,
      'access_denied',
    );
  });

  test.each(['tokens:list', 'tokens:create', 'tokens:get', 'tokens:delete'])(
    'the service does not start with a policy for %s',
    async (right) => {
      await expect(startTestService({ TSIGIL_POLICY: `{"${right}": [reader]}` })).rejects.toThrow(
        right,
      );
    },
  );
});

describe('request-context headers', () => {
  beforeAll(async () => {
    service = await startTestService({ TSIGIL_POLICY: '{"tlds:list": [admin, member]}' });
    member = await caller(service, 'member');
    await create(service, TLDS, 'com');
  });

  const asked: [query: string, headers: Record<string, string>][] = [
    ['', { 'x-auth-sudo-project-id': 'other' }],
    ['', { 'x-auth-sudo-tenant-id': 'other' }],
    ...['1', 'True', 'yes'].map((value): [string, Record<string, string>] => [
      '',
      { 'x-auth-all-projects': value },
    ]),
    ['?all_projects=true', {}],
    ['?all_tenants=yes', {}],
    ['?all_projects=no&all_projects=yes', {}],
    ['?all%5Fprojects=1', {}],
    ['?edit_managed_records=true', {}],
    ['', { 'x-designate-edit-managed-records': 'true' }],
    ['', { 'x-designate-hard-delete': 'true' }],
  ];

  test.each(asked)(
    '401 without the right; with the right, 200 and the same list as without the request context: %s %j',
    async (query, headers) => {
      expectError(await member.get(`/v2/tlds${query}`, headers), 401, 'access_denied');
      const response = await service.get(`/v2/tlds${query}`, headers);
      expect(response.body).toEqual((await service.get('/v2/tlds')).body);
    },
  );

  test.each([
    ['', { 'x-auth-sudo-project-id': '' }],
    ['', { 'x-auth-all-projects': 'false' }],
    ['', { 'x-auth-all-projects': '0' }],
    ['?all_projects=', {}],
    ['?all_tenants=no', {}],
    ['', { 'x-designate-hard-delete': '' }],
    ['', { 'x-designate-delete-shares': 'true', 'openstack-dns-hide-counts': 'true' }],
  ] as [string, Record<string, string>][])(
    '200 for every caller if the header has no effect: %s %j',
    async (query, headers) => {
      expect((await member.get(`/v2/tlds${query}`, headers)).status).toBe(200);
    },
  );
});
