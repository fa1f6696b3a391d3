import { beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_POOL_ID } from '../../src/domain/resources/pool.ts';
import { RESOURCE_TYPES } from '../../src/domain/resources/resources.ts';
import { typeOf } from '../../src/domain/model/errors.ts';
import type { ApiDocument } from '../../src/http/openapi/document.ts';
import type { ApiResponse, Client } from '../harness/client.ts';
import {
  examplesOf,
  expectDocumented,
  expectPromised,
  KNOWN_STRANGER,
  operationAt,
  readDocument,
  responseTo,
} from '../harness/description.ts';
import { startWithTokens } from '../harness/administrators.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { startAgentRequests } from '../delivery/agent-requests.ts';
import { clientFor } from '../harness/zones.ts';

/** The id in the examples of the OpenAPI document. No resource has this id. */
const UNKNOWN_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';

describe('collection rules', () => {
  test('4xx with the documented message for every rule of an operation', async () => {
    const ruled = await startTestService({
      TSIGIL_TSIGKEYS_REQUIRE_RESOURCE: 'true',
      TSIGIL_ZONES_PER_PROJECT: '2',
    });
    const document = await readDocument(ruled);
    const [one, other, projectless] = [
      await clientFor(ruled, ['member'], 'one'),
      await clientFor(ruled, ['member'], 'other'),
      await clientFor(ruled, ['member']),
    ];
    const email = 'hostmaster@example.com';
    const zone = (client: Client, name: string, more: object = {}) =>
      client.post('/v2/zones', { name, email, ...more });
    const made = async (response: Promise<ApiResponse>) => {
      const { status, text, body } = await response;
      expect(status, text).toBe(201);
      return (body as { id: string }).id;
    };
    await made(ruled.post('/v2/tlds', { name: 'com' }));
    const pool = await made(ruled.post('/v2/pools', { name: 'anycast' }));
    await made(zone(ruled, 'pooled.com.', { pool_id: pool }));
    const zoneId = await made(zone(one, 'example.com.'));
    await made(zone(one, 'below.shared.com.'));
    const parent = await made(zone(other, 'parent.com.'));
    const child = await made(zone(other, 'child.parent.com.'));
    const server = { name: 'ns1', pool_id: pool, driver: 'bind', address: '192.0.2.53' };
    const serverId = await made(ruled.post('/v2/nameservers', server));
    const key = { name: 'k', algorithm: 'hmac-sha256', scope: 'POOL', resource_id: pool };
    const keyId = await made(ruled.post('/v2/tsigkeys', key));
    const narrowId = await made(
      ruled.post('/v2/tsigkeys', {
        ...key,
        name: 'narrow',
        resource_id: DEFAULT_POOL_ID,
        grants: [{ rights: ['transfer'], zones: [zoneId] }],
      }),
    );

    const handle = await made(ruled.post('/v2/tsigkeys', { ...key, name: 'handle' }));
    await made(ruled.post(`/v2/tsigkeys/${handle}/rotate`, {}));
    await ruled.delete(`/v2/tsigkeys/${handle}`);

    const agent = await startAgentRequests();
    const named = await agent.createKey('transfer');
    const owner = await clientFor(agent.service, ['member'], 'owner');
    const namedZone = await made(zone(owner, 'named.com.'));
    await agent.createKey('of-zone', { scope: 'ZONE', resource_id: namedZone });
    const references = ['transfer', 'of-zone'].map((key) => ({
      key,
      place: '/etc/bind/named.conf:12',
    }));
    await agent.observe(await agent.desired(), { key_references: references });

    const otherPool = await made(agent.service.post('/v2/pools', { name: 'other' }));

    const administrators = await startWithTokens([{ name: 'admin', roles: ['admin'] }]);
    const [last] = administrators.tokens;

    const keystoneOnly = await startTestService({
      TSIGIL_AUTH_METHOD: 'keystone',
      TSIGIL_AUTH_KEYSTONE_URL: 'http://127.0.0.1:9',
    });

    const faults: [right: string, type: string, () => Promise<ApiResponse>][] = [
      ['zones:create', 'forbidden', () => zone(ruled, 'catalog.com.', { type: 'CATALOG' })],
      ['zones:create', 'missing_project_id', () => zone(projectless, 'free.com.')],
      ['zones:create', 'over_quota', () => zone(one, 'third.com.')],
      ['zones:create', 'invalid_zone_name', () => zone(ruled, 'example.net.')],
      ['zones:create', 'illegal_child', () => zone(ruled, 'www.example.com.')],
      ['zones:create', 'illegal_parent', () => zone(ruled, 'shared.com.')],
      [
        'zones:create',
        'no_valid_pool_found',
        () => zone(ruled, 'example2.com.', { pool_id: UNKNOWN_ID }),
      ],
      [
        'nameservers:create',
        'no_valid_pool_found',
        () => ruled.post('/v2/nameservers', { ...server, name: 'ns2', pool_id: UNKNOWN_ID }),
      ],
      [
        'nameservers:update',
        'no_valid_pool_found',
        () => ruled.patch(`/v2/nameservers/${serverId}`, { pool_id: UNKNOWN_ID }),
      ],
      ['zones:delete', 'zone_has_sub_zone', () => other.delete(`/v2/zones/${parent}`)],
      [
        'tokens:create',
        'invalid_operation',
        () => keystoneOnly.post('/v2/tokens', { name: 't', roles: ['reader'] }),
      ],
      ['pools:delete', 'invalid_operation', () => ruled.delete(`/v2/pools/${pool}`)],
      [
        'tsigkeys:create',
        'invalid_tsigkey',
        () => ruled.post('/v2/tsigkeys', { ...key, name: 'l', resource_id: UNKNOWN_ID }),
      ],
      [
        'tsigkeys:update',
        'invalid_tsigkey',
        () => ruled.patch(`/v2/tsigkeys/${keyId}`, { resource_id: UNKNOWN_ID }),
      ],
      [
        'tsigkeys:update',
        'outside_grants',
        () => ruled.patch(`/v2/tsigkeys/${narrowId}`, { resource_id: pool }),
      ],
      [
        'tsigkeys:create',
        'reserved_name',
        () => ruled.post('/v2/tsigkeys', { ...key, name: 'handle' }),
      ],
      [
        'tsigkeys:update',
        'reserved_name',
        () => ruled.patch(`/v2/tsigkeys/${keyId}`, { name: 'handle' }),
      ],
      ['tsigkeys:delete', 'key_is_referenced', () => agent.service.delete(`/v2/tsigkeys/${named}`)],
      [
        'tsigkeys:update',
        'key_is_referenced',
        () => agent.service.patch(`/v2/tsigkeys/${named}`, { name: 'other' }),
      ],
      ['zones:delete', 'key_is_referenced', () => owner.delete(`/v2/zones/${namedZone}`)],
      [
        'nameservers:update',
        'key_is_referenced',
        () => agent.service.patch(`/v2/nameservers/${agent.id}`, { pool_id: otherPool }),
      ],
      [
        'tokens:delete',
        'last_administrator',
        () => administrators.service.with(last?.token ?? '').delete(`/v2/tokens/${last?.id}`),
      ],
    ];
    for (const [right, type, provoke] of faults) {
      const [collection = '', operation = ''] = right.split(':');
      const [method, template] =
        operation === 'create'
          ? ['POST', `/v2/${collection}`]
          : [operation === 'update' ? 'PATCH' : 'DELETE', `/v2/${collection}/{id}`];
      expectPromised(document, template, method, await provoke(), type);
    }
    const ruledOut = RESOURCE_TYPES.flatMap(({ collection, refusals = {} }) =>
      Object.entries(refusals).flatMap(([operation, codes]) =>
        codes.map((code) => `${collection}:${operation} ${typeOf(code)}`),
      ),
    );
    expect(faults.map(([right, type]) => `${right} ${type}`).sort()).toEqual(ruledOut.sort());
    expect((await other.delete(`/v2/zones/${child}`)).status).toBe(202);
  });
});

describe('zone name check', () => {
  let service: TestService;
  let api: ApiDocument;
  beforeAll(async () => {
    service = await startTestService(KNOWN_STRANGER);
    api = await readDocument(service);
  });

  const path = '/v2/tlds/check';

  test('200 for the example of the request, with a response as documented', async () => {
    const examples = examplesOf(operationAt(api, path, 'POST').requestBody?.content);
    const promised = examplesOf(responseTo(api, path, 'POST', 200).content);
    for (const [name, request] of Object.entries(examples)) {
      const response = await service.post(path, request);
      expect(response.status).toBe(200);
      expectDocumented(api, path, 'POST', response);
      expect(response.body).toEqual(promised[name]);
    }
    expect(Object.keys(examples)).not.toEqual([]);
  });
});
