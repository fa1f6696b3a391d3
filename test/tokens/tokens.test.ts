import { beforeAll, describe, expect, test } from 'vitest';
import { hashToken } from '../../src/core/token-hash.ts';
import { expectError } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { sendRequest } from '../harness/wire.ts';

const MEMBERS = [
  'id',
  'name',
  'roles',
  'project_id',
  'pools',
  'zones',
  'keys',
  'nameservers',
  'addresses',
  'expires_at',
  'last_used_at',
  'created_by',
  'created_at',
  'updated_at',
  'links',
];
let service: TestService;
let now: string;

beforeAll(async () => {
  now = '2030-01-01T00:00:00.000000';
  service = await startTestService({}, { clock: () => now });
});

let count = 0;
const body = (members: Record<string, unknown> = {}) => ({
  name: `token-${(count += 1)}`,
  roles: ['admin'],
  ...members,
});

async function make(members: Record<string, unknown> = {}) {
  const response = await service.post('/v2/tokens', body(members));
  expect(response.status, response.text).toBe(201);
  return response.body;
}

describe('creation', () => {
  test('201 with the token, and no other response contains the token', async () => {
    const { token, ...rest } = await make({
      name: 'shown-once',
      project_id: 'p',
      expires_at: '2031-01-01T00:00:00',
    });
    expect(token).toMatch(/^tsigil_[A-Za-z0-9_-]{43}$/);
    expect(Object.keys(rest)).toEqual(MEMBERS);
    expect(rest).toMatchObject({
      name: 'shown-once',
      roles: ['admin'],
      project_id: 'p',
      expires_at: '2031-01-01T00:00:00.000000',
      updated_at: null,
    });
    expect((await service.get(`/v2/tokens/${rest.id}`)).body).toEqual(rest);
    const list = await service.get('/v2/tokens?name=shown-once');
    expect(list.body).toEqual({
      tokens: [rest],
      links: { self: `${service.url}/v2/tokens?name=shown-once` },
    });
    expect(service.log.join('')).not.toContain(token);
  });
});

describe('the other operations', () => {
  test('200 from /v2/whoami with the id, roles, rights and expiry of a token, even with the role reader', async () => {
    const expires_at = '2999-01-31T12:00:00.000000';
    const { token, ...made } = await make({ roles: ['reader'], project_id: 'red', expires_at });
    const { status, body } = await service.with(token).get('/v2/whoami');
    const { id, name, roles, project_id, pools, zones, keys, nameservers, addresses } = made;
    const shown = { id, name, roles, project_id, pools, zones, keys, nameservers, addresses };
    expect([status, body]).toEqual([
      200,
      { ...shown, rights: ['zones:list', 'zones:get'], expires_at },
    ]);
  });

  test('400 for a token in place of an id, without quoting the token', async () => {
    const { token } = await make();
    expect((await service.delete(`/v2/tokens/${token}`)).text).not.toContain(token);
  });

  test('405 for an update, because the rights of a token cannot change', async () => {
    const { id } = await make();
    const response = await service.patch(`/v2/tokens/${id}`, { roles: ['admin'] });
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers.get('allow')).toBe('GET, HEAD, DELETE, OPTIONS');
  });

  test('200 for the filters name and project_id, 400 for other members', async () => {
    const { id } = await make({ name: 'filtered', project_id: 'project-f' });
    for (const query of [
      'name=filtered',
      'name=filt*',
      'project_id=project-f',
      'project_id=project-f&name=*',
    ]) {
      expect((await service.get(`/v2/tokens?${query}`)).body.tokens).toMatchObject([{ id }]);
    }
    for (const query of ['hash=x', 'roles=admin', 'expires_at=x'])
      expectError(await service.get(`/v2/tokens?${query}`), 400, 'bad_request');
  });
});

describe('use of a token', () => {
  const ask = (...headers: string[]) =>
    sendRequest(service.url, ['GET /v2/tlds HTTP/1.1', 'Host: h', ...headers]);

  test.each([
    ['X-Auth-Token: %', 200],
    ['x-auth-token:%', 200],
    ['Authorization: Bearer %', 200],
    ['authorization: bearer %', 200],
    ['Authorization: BEARER   %', 200],
    ['Authorization: %', 401],
    ['Authorization: Basic %', 401],
    ['Authorization: Bearer', 401],
    ['Authorization: Bearer ', 401],
    ['Authorization: Bearer% ', 401],
    ['X-Auth-Token: Bearer %', 401],
    ['X-Auth-Token:', 401],
    ['X-Auth-Token: %x', 401],
    ['X-Subject-Token: %', 401],
    ['Cookie: token=%', 401],
  ])('a token in the header "%s" gets %d', async (header, status) => {
    const { token } = await make();
    expect((await ask(header.replace('%', token))).status).toBe(status);
    expect((await ask(header.replace('%', 'tsigil_nobody'))).status).toBe(401);
  });

  test('200 for a bearer token if X-Auth-Token is empty; otherwise X-Auth-Token is used', async () => {
    const { token } = await make();
    expect((await ask('X-Auth-Token:', `Authorization: Bearer ${token}`)).status).toBe(200);
    expect(
      (await ask('X-Auth-Token: tsigil_nobody', `Authorization: Bearer ${token}`)).status,
    ).toBe(401);
    expect(
      (await ask(`X-Auth-Token: ${token}`, 'Authorization: Bearer tsigil_nobody')).status,
    ).toBe(200);
  });

  test('401 for a token in the query', async () => {
    const { token } = await make();
    const response = await sendRequest(service.url, [
      `GET /v2/tlds?token=${token}&access_token=${token} HTTP/1.1`,
      'Host: h',
    ]);
    expect(response.status).toBe(401);
    expect(service.log.join('')).not.toContain(token);
  });

  test('401 for the hash, the id and the name of a token', async () => {
    const { id, name, token } = await make();
    for (const text of [hashToken(token), id, name])
      expect((await service.with(text).get('/v2/tlds')).status).toBe(401);
  });

  test('401 as soon as a token is deleted', async () => {
    const { id, token } = await make();
    const client = service.with(token);
    expect((await client.get('/v2/tlds')).status).toBe(200);
    expect((await client.delete(`/v2/tokens/${id}`)).status).toBe(204);
    expect((await client.get('/v2/tlds')).status).toBe(401);
  });

  test('401 as soon as a token expires', async () => {
    const { token } = await make({ expires_at: '2030-01-01T01:00:00+01:00' });
    expect((await service.with(token).get('/v2/tlds')).status).toBe(401);
    const later = service.with((await make({ expires_at: '2030-01-01T00:00:01' })).token);
    const forever = service.with((await make()).token);
    const timestamps = [
      '2030-01-01T00:00:00.999999',
      '2030-01-01T00:00:01.000000',
      '2031-01-01T00:00:00.000000',
    ];
    const statuses: number[][] = [];
    for (const timestamp of timestamps) {
      now = timestamp;
      statuses.push([(await later.get('/v2/tlds')).status, (await forever.get('/v2/tlds')).status]);
    }
    now = '2030-01-01T00:00:00.000000';
    expect(statuses).toEqual([
      [200, 200],
      [401, 200],
      [401, 200],
    ]);
  });
});
