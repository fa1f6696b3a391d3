import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_POLICY } from '../../src/resources/policy.ts';
import type { Client } from '../harness/client.ts';
import { create, expectError, itemsOf, SECRET, TSIGKEYS, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor } from '../harness/zones.ts';

const ROLES = ['admin', 'keymanager', 'auditor', 'member', 'reader'];

type Request = [
  method: string,
  path: string,
  body?: object | undefined,
  headers?: Record<string, string>,
];

/** Returns a request for each operation on a collection. The requests change nothing. */
function operations(collection: string): Record<string, Request> {
  return {
    [`${collection}:create`]: ['POST', `/v2/${collection}`, {}],
    [`${collection}:list`]: ['GET', `/v2/${collection}`],
    [`${collection}:get`]: ['GET', `/v2/${collection}/${UNKNOWN_ID}`],
    [`${collection}:update`]: ['PATCH', `/v2/${collection}/${UNKNOWN_ID}`, {}],
    [`${collection}:delete`]: ['DELETE', `/v2/${collection}/${UNKNOWN_ID}`],
  };
}

/**
 * For each right, a request that requires this right. The roles with this right also have the other
 * rights that the request requires.
 */
const REQUESTS: Readonly<Record<string, Request>> = {
  ...operations('tlds'),
  ...operations('tsigkeys'),
  ...operations('pools'),
  ...operations('zones'),
  ...operations('nameservers'),
  ...Object.fromEntries(
    Object.entries(operations('tokens')).filter(([right]) => right !== 'tokens:update'),
  ),
  use_sudo: ['GET', '/v2/zones', undefined, { 'x-auth-sudo-project-id': 'other' }],
  all_projects: ['PATCH', `/v2/zones/${UNKNOWN_ID}`, {}, { 'x-auth-all-projects': 'true' }],
  read_all_projects: ['GET', '/v2/zones', undefined, { 'x-auth-all-projects': 'true' }],
  edit_managed_records: [
    'GET',
    '/v2/zones',
    undefined,
    { 'x-designate-edit-managed-records': 'true' },
  ],
  hard_delete: ['GET', '/v2/zones', undefined, { 'x-designate-hard-delete': 'true' }],
  'zones:outside_tlds': ['GET', '/v2/zones?outside_tlds=true'],
  'zones:choose_pool': [
    'POST',
    '/v2/zones',
    { name: 'roles.example.', email: 'hostmaster@example.org', pool_id: UNKNOWN_ID },
  ],
  'tsigkeys:reveal': ['GET', '/v2/tsigkeys/{key}/export?format=bind'],
  'encryption:get': ['GET', '/v2/encryption'],
  'encryption:manage': ['POST', '/v2/encryption/verify'],
  'audit:list': ['GET', '/v2/audit'],
  'nameservers:desired': ['GET', `/v2/nameservers/${UNKNOWN_ID}/desired?agent=host`],
  'nameservers:observe': ['PUT', `/v2/nameservers/${UNKNOWN_ID}/observed`, {}],
  'nameservers:check': ['GET', `/v2/nameservers/${UNKNOWN_ID}/check`],
  'nameservers:resume': ['POST', '/v2/deliveries/resume', {}],
  'tsigkeys:grant': ['PUT', '/v2/tsigkeys/{key}/grants', { grants: null }],
  ...Object.fromEntries(
    ['rotate', 'retire', 'abort', 'confirm', 'restore'].map((action): [string, Request] => [
      `tsigkeys:${action}`,
      ['POST', `/v2/tsigkeys/${UNKNOWN_ID}/${action}`, {}],
    ]),
  ),
};

/** Returns a key without its secret. */
function withoutSecret(key: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(key).filter(([name]) => name !== 'secret'));
}

/** The table of rights in docs/api.md. Each row has rights with the same roles. */
const TABLE = [
  ...readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8').matchAll(
    /^\| ((?:`[a-z_]+(?::[a-z_]+)?`(?:, )?)+) \| (`admin`.*) \|$/gm,
  ),
].flatMap(([, rights = '', roles = '']) =>
  rights
    .split(', ')
    .map((right): [string, string[]] => [
      right.slice(1, -1),
      ROLES.filter((role) => roles.split(', ').includes(`\`${role}\``)),
    ]),
);

test('docs/api.md lists the roles of every right', () => {
  expect(Object.fromEntries(TABLE)).toEqual(
    Object.fromEntries(
      Object.entries(DEFAULT_POLICY).map(([right, allowed]) => [
        right,
        ROLES.filter((role) => allowed.includes(role)),
      ]),
    ),
  );
});

test('this file tests a request for every right', () => {
  expect(Object.keys(REQUESTS).toSorted()).toEqual(Object.keys(DEFAULT_POLICY).toSorted());
});

describe('rights of roles', () => {
  let service: TestService;
  const clients = new Map<string, Client>();
  let keyId: string;
  beforeAll(async () => {
    service = await startTestService();
    keyId = (await create(service, TSIGKEYS, 'shown')).id;
    for (const role of ROLES) clients.set(role, await clientFor(service, [role], 'own'));
  });
  const clientOf = (role: string) => clients.get(role) as Client;

  test.each(TABLE)(
    '%s is granted to %j, other roles get 401 access_denied, and a caller without a token 401',
    async (right, roles) => {
      const [method, path, body, headers] = REQUESTS[right] as Request;
      for (const role of ROLES) {
        const response = await clientOf(role).call(
          method,
          path.replace('{key}', keyId),
          body,
          headers,
        );
        expect([role, response.text.includes('"type":"access_denied"')], response.text).toEqual([
          role,
          !roles.includes(role),
        ]);
      }
      const anonymous = await service.with('unknown-token').call(method, path, body, headers);
      const message = 'The request you have made requires authentication.';
      expect(expectError(anonymous, 401, 'unauthorized')).toBe(message);
      // the body of Keystone's middleware
      expect(anonymous.body.error).toEqual({ code: 401, title: 'Unauthorized', message });
      expect(anonymous.headers.get('www-authenticate')).toBe('Bearer');
    },
  );

  test('an auditor gets every member of keys except the secret', async () => {
    const members = withoutSecret((await service.get(`/v2/tsigkeys/${keyId}`)).body);
    const auditor = clientOf('auditor');
    const response = await auditor.get(`/v2/tsigkeys/${keyId}`);
    expect(response.body).toEqual(members);
    expect(itemsOf(await auditor.get('/v2/tsigkeys'), TSIGKEYS)).toEqual([members]);
    expect(response.text).not.toContain(SECRET);
    const exported = await auditor.get(`/v2/tsigkeys/${keyId}/export?format=bind`);
    expectError(exported, 401, 'access_denied');
    expect(exported.text).toContain("'tsigkeys:reveal'");
  });

  test('a caller who may create and change keys, but not see secrets, gets no secret', async () => {
    const other = await startTestService({
      TSIGIL_POLICY: JSON.stringify({
        'tsigkeys:create': ['creator'],
        'tsigkeys:update': ['creator'],
      }),
    });
    const creator = await clientFor(other, ['creator'], null);
    const body = TSIGKEYS.body('new');
    const created = await creator.post('/v2/tsigkeys', body);
    expect(created.status).toBe(201);
    const changed = await creator.call('PATCH', `/v2/tsigkeys/${String(created.body.id)}`, body);
    expect(changed.status).toBe(200);
    const rest = withoutSecret(await create(clientOf('keymanager'), TSIGKEYS, 'with-secret'));
    for (const { body: shown } of [created, changed])
      expect(Object.keys(shown)).toEqual(Object.keys(rest));
  });

  test('a caller who may change keys, but not see secrets, gets no warning for a change', async () => {
    const other = await startTestService({
      TSIGIL_POLICY: JSON.stringify({ 'tsigkeys:update': ['changer'] }),
    });
    const changer = await clientFor(other, ['changer'], null);
    const key = await create(other, TSIGKEYS, 'guessed');
    const changed = await changer.call('PATCH', `/v2/tsigkeys/${key.id}`, {
      algorithm: 'hmac-sha512',
    });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('tsigil-warning')).toBeNull();
  });
});
