import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { ANSWER_EXAMPLE } from '../../src/delivery/agent-examples.ts';
import { LIMIT_KINDS, type LimitKind } from '../../src/core/caller.ts';
import type { ApiResponse, Client } from '../harness/client.ts';
import {
  createEstate,
  limitedTokens,
  limitsTo,
  PROJECT,
  tokenWith,
  type Estate,
} from '../harness/limited-tokens.ts';
import { problemsOf } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

// The rights of `admin` tokens that are limited to pools, zones, keys or name servers. `w` means
// only within the limits, `-` means never, and `*` means the same as without limits. `r` means only
// within the limits too, as test/resources/keymanager.test.ts and test/delivery/events.test.ts test, and
// `o` only the caller's own, as test/console/sign-in.night.test.ts tests.
const MATRIX: Readonly<Record<string, string>> = {
  'GET /v2/tlds': '- - - -',
  'POST /v2/tlds': '- - - -',
  'GET /v2/tlds/{id}': '- - - -',
  'PATCH /v2/tlds/{id}': '- - - -',
  'DELETE /v2/tlds/{id}': '- - - -',
  'POST /v2/tlds/bulk': '- - - -',
  'POST /v2/tlds/check': '* - - -',
  'GET /v2/tsigkeys': 'w w w -',
  'POST /v2/tsigkeys': 'w w - -',
  'GET /v2/tsigkeys/{id}': 'w w w -',
  'PATCH /v2/tsigkeys/{id}': 'w w w -',
  'DELETE /v2/tsigkeys/{id}': 'w w w -',
  'GET /v2/tsigkeys/{id}/export': 'w w w -',
  'POST /v2/tsigkeys/{id}/reveal': 'w w w -',
  'GET /v2/tsigkeys/{id}/deliveries': 'w w w -',
  'GET /v2/tsigkeys/{id}/grants': 'w w w -',
  'GET /v2/tsigkeys/{id}/uses': 'w w w -',
  'PUT /v2/tsigkeys/{id}/grants': 'w w - -',
  'GET /v2/tsigkeys/{id}/lifecycle': 'w w w -',
  'PATCH /v2/tsigkeys/{id}/lifecycle': 'w w w -',
  'POST /v2/tsigkeys/{id}/rotate': 'w w - -',
  'POST /v2/tsigkeys/{id}/retire': 'w w - -',
  'POST /v2/tsigkeys/{id}/abort': 'w w - -',
  'POST /v2/tsigkeys/{id}/confirm': 'w w - -',
  'POST /v2/tsigkeys/{id}/restore': 'w w - -',
  'POST /v2/tsigkeys/states': 'w w w -',
  'GET /v2/pools': 'w w - -',
  'POST /v2/pools': '- - - -',
  'GET /v2/pools/{id}': 'w w - -',
  'PATCH /v2/pools/{id}': '- - - -',
  'DELETE /v2/pools/{id}': '- - - -',
  'GET /v2/zones': 'w w - -',
  'POST /v2/zones': 'w - - -',
  'GET /v2/zones/{id}': 'w w - -',
  'PATCH /v2/zones/{id}': 'w w - -',
  'DELETE /v2/zones/{id}': 'w w - -',
  'GET /v2/zones/{id}/nameservers': 'w w - -',
  'GET /v2/zones/{id}/tsigkeys': 'w w w -',
  'GET /v2/limits': '* * - -',
  'GET /v2/nameservers': 'w w - -',
  'POST /v2/nameservers': '- - - -',
  'GET /v2/nameservers/{id}': 'w w - -',
  'GET /v2/nameservers/{id}/tsigkeys': 'w w w -',
  'PATCH /v2/nameservers/{id}': '- - - -',
  'DELETE /v2/nameservers/{id}': '- - - -',
  'GET /v2/deliveries': 'r r - -',
  'POST /v2/deliveries/resume': '- - - -',
  'POST /v2/nameservers/{id}/remove-key': '- - - -',
  'POST /v2/nameservers/{id}/release': '- - - -',
  'GET /v2/nameservers/{id}/check': '- - - -',
  'GET /v2/nameservers/{id}/setup': '- - - -',
  'POST /v2/nameservers/{id}/reconcile': '- - - -',
  'GET /v2/nameservers/{id}/desired': '- - - w',
  'PUT /v2/nameservers/{id}/observed': '- - - w',
  'PUT /v2/nameservers/{id}/lease': '- - - w',
  'GET /v2/tokens': '- - - -',
  'POST /v2/tokens': '- - - -',
  'GET /v2/tokens/{id}': '- - - -',
  'DELETE /v2/tokens/{id}': '- - - -',
  'GET /v2/whoami': '* * * *',
  'GET /v2/sessions': '* * * *',
  'DELETE /v2/sessions/{id}': 'o o o o',
  'GET /v2/status': '* * * *',
  'GET /v2/audit': '- - - -',
  'GET /v2/audit/batches': '- - - -',
  'GET /v2/audit/verify': '- - - -',
  'GET /v2/encryption': '- - - -',
  'POST /v2/encryption/verify': '- - - -',
  'POST /v2/encryption/rotate': '- - - -',
  'POST /v2/encryption/rotate-master-key': '- - - -',
  'POST /v2/encryption/confirm-copy': '- - - -',
};

const ROWS = Object.entries(MATRIX).flatMap(([route, cells]) => {
  const [method = '', path = ''] = route.split(' ');
  return LIMIT_KINDS.map((kind, index) => ({ method, path, kind, cell: cells.split(' ')[index] }));
});
const rowsWith = (cell: string) => ROWS.filter((row) => row.cell === cell);

let service: TestService;
let estate: Estate;
let limited: Record<LimitKind, Client>;

beforeAll(async () => {
  service = await startTestService();
  estate = await createEstate(service);
  limited = await limitedTokens(service, estate);
});

/** Returns the ids of a collection inside and outside a limit. */
function idsOf(kind: LimitKind, collection: string): { inside: string[]; outside: string[] } {
  const { pools, zones, poolKeys, zoneKeys, nameServers } = estate;
  const all: Record<string, readonly string[]> = {
    pools,
    zones,
    tsigkeys: [...poolKeys, ...zoneKeys],
    nameservers: nameServers,
  };
  const inside: Record<LimitKind, Record<string, string[]>> = {
    pools: {
      pools: [pools[0]],
      nameservers: [nameServers[0]],
      zones: [zones[0]],
      tsigkeys: [poolKeys[0], zoneKeys[0]],
    },
    zones: {
      pools: [pools[0]],
      nameservers: [nameServers[0]],
      zones: [zones[0]],
      tsigkeys: [zoneKeys[0]],
    },
    keys: { tsigkeys: [poolKeys[0]] },
    nameservers: { nameservers: [nameServers[0]] },
  };
  const own = inside[kind][collection] ?? [];
  return { inside: own, outside: (all[collection] ?? []).filter((id) => !own.includes(id)) };
}

/** Returns a response without its request id, and with a placeholder for `id`, for comparisons. */
function shown({ status, body, headers }: ApiResponse, id: string) {
  const rest = { ...(body as object | undefined), request_id: undefined };
  return [
    status,
    headers.get('www-authenticate'),
    JSON.parse(JSON.stringify(rest).replaceAll(id, '(id)')),
  ];
}

const BODIES: Readonly<Record<string, object>> = {
  tlds: { name: 'limits' },
  pools: { name: 'limits' },
  tokens: { name: 'limits', roles: ['reader'] },
};

test('the table has a row for each operation of the API, and no other rows', async () => {
  const { body } = await service.get('/openapi.json');
  const routes = Object.entries(body.paths as Record<string, object>).flatMap(([path, item]) =>
    path.startsWith('/v2/')
      ? Object.keys(item)
          .filter((name) => name !== 'parameters')
          .map((method) => `${method.toUpperCase()} ${path}`)
      : [],
  );
  expect(Object.keys(MATRIX).sort()).toEqual(routes.sort());
});

test.each(rowsWith('-'))(
  '403 for $method $path with a token limited to $kind',
  async ({ method, path, kind }) => {
    const [, , collection = ''] = path.split('/');
    const { inside } = idsOf(kind, collection);
    const url = path.replace('{id}', inside[0] ?? randomUUID());
    const body = method === 'GET' || method === 'DELETE' ? undefined : (BODIES[collection] ?? {});
    const response = await limited[kind].call(method, url, body);
    expect([response.status, response.body.type]).toEqual([403, 'outside_limits']);
    expect(response.body.message).toMatch(/^The limits of the token do not include the right '/);
  },
);

test.each(rowsWith('*'))(
  '200 for $method $path with a token limited to $kind',
  async ({ method, path, kind }) => {
    const body = method === 'POST' ? { names: ['example.org'] } : undefined;
    expect((await limited[kind].call(method, path, body)).status).toBe(200);
  },
);

describe.each(rowsWith('w').filter(({ path }) => path.includes('{id}')))(
  '$method $path with a token limited to $kind',
  ({ method, path, kind }) => {
    const collection = path.split('/')[2] ?? '';
    const urlOf = (id: string) =>
      `${path.replace('{id}', id)}${QUERIES[path.split('/')[4] ?? ''] ?? ''}`;
    const isReport = method === 'PUT' && collection === 'nameservers';
    const body = { PATCH: {}, PUT: isReport ? REPORT : { grants: [] }, POST: {} }[method];
    // A step of a rotation may be done already, or not be possible yet.
    const usual = method === 'POST' ? [200, 201, 409] : [200, 202];

    test('404 outside the limits, with the same response as for an unknown id', async () => {
      const unknown = randomUUID();
      const expected = shown(await limited[kind].call(method, urlOf(unknown), body), unknown);
      expect(expected[0]).toBe(404);
      const { outside } = idsOf(kind, collection);
      expect(outside).not.toEqual([]);
      for (const id of outside) {
        const response = await limited[kind].call(method, urlOf(id), body);
        expect(shown(response, id)).toEqual(expected);
        expect((await service.get(`/v2/${collection}/${id}`, ALL_PROJECTS)).status).toBe(200);
      }
    });

    test.runIf(method !== 'DELETE')(
      '2xx, or 409 for an old report, within the limits',
      async () => {
        for (const id of idsOf(kind, collection).inside) {
          const { status } = await limited[kind].call(method, urlOf(id), body);
          expect(isReport ? [409] : usual).toContain(status);
        }
      },
    );
  },
);

const QUERIES: Readonly<Record<string, string>> = {
  export: '?format=bind',
  desired: '?agent=ns1.example.org',
};

/** An agent's answer about a pass that no agent has begun. */
const REPORT = { ...ANSWER_EXAMPLE, fence: 0 };

const ALL_PROJECTS = { 'x-auth-all-projects': 'true' };

describe.each(rowsWith('w').filter(({ method, path }) => method === 'GET' && !path.includes('{')))(
  'GET $path with a token limited to $kind',
  ({ path, kind }) => {
    const collection = path.split('/')[2] ?? '';
    const list = async (query: string, headers = {}) => {
      const { status, body } = await limited[kind].get(`${path}?${query}`, headers);
      expect(status).toBe(200);
      return (body[collection] as { id: string }[]).map(({ id }) => id).sort();
    };

    test('lists only resources within the limits, in every order, on every page and for all projects', async () => {
      const inside = idsOf(kind, collection).inside.toSorted();
      expect(await list('')).toEqual(inside);
      for (const key of ['name', 'id', 'updated_at', 'created_at'])
        for (const direction of ['asc', 'desc'])
          expect(await list(`sort_key=${key}&sort_dir=${direction}`)).toEqual(inside);
      expect(await list('name=*')).toEqual(inside);
      expect(await list('limit=1000', ALL_PROJECTS)).toEqual(inside);
      const paged: string[] = [];
      let next = `${path}?limit=1`;
      while (next !== '') {
        const { body } = await limited[kind].get(next);
        paged.push(...(body[collection] as { id: string }[]).map(({ id }) => id));
        next = String(body.links.next ?? '').replace(service.url, '');
      }
      expect(paged.sort()).toEqual(inside);
    });

    test('finds no resource outside the limits by name, by pattern or by resource_id', async () => {
      for (const id of idsOf(kind, collection).outside) {
        const { body } = await service.get(`/v2/${collection}/${id}`, ALL_PROJECTS);
        const name = encodeURIComponent(String(body.name));
        expect(await list(`name=${name}`, ALL_PROJECTS)).toEqual([]);
        expect(await list(`name=${name.slice(0, -3)}*`, ALL_PROJECTS)).toEqual([]);
        if (collection === 'tsigkeys')
          expect(await list(`resource_id=${String(body.resource_id)}`)).not.toContain(id);
      }
    });

    test('counts only resources within the limits', async () => {
      const { body } = await limited[kind].get(`${path}?limit=1`, ALL_PROJECTS);
      if (collection === 'zones') expect(body.metadata).toEqual({ total_count: 1 });
      else expect(body).not.toHaveProperty('metadata');
    });

    test('refuses a marker outside the limits with the same response as an unknown marker', async () => {
      const unknown = randomUUID();
      const expected = shown(await limited[kind].get(`${path}?marker=${unknown}`), unknown);
      for (const id of idsOf(kind, collection).outside)
        expect(shown(await limited[kind].get(`${path}?marker=${id}`), id)).toEqual(expected);
    });
  },
);

test.each(rowsWith('w').filter(({ path }) => path === '/v2/tsigkeys/states'))(
  '200 with the states of only the keys within the limits for a token limited to $kind',
  async ({ path, kind }) => {
    const { inside, outside } = idsOf(kind, 'tsigkeys');
    const { status, body } = await limited[kind].post(path, {
      ids: [...outside, randomUUID(), ...inside],
    });
    const states = body.states as { id: string }[];
    expect([status, states.map(({ id }) => id)]).toEqual([200, inside]);
  },
);

const keyOf = (scope: string, id: string, name: string = randomUUID()) => ({
  name,
  algorithm: 'hmac-sha256',
  scope,
  resource_id: id,
});
const outsideLimits = (title: string) => ({
  type: 'outside_limits',
  message: `The limits of the token do not include this ${title}`,
});

describe('creation', () => {
  test('201 for keys within the limits, 403 for others, whether or not the resource exists or the name is taken', async () => {
    const { pools, zones, poolKeys } = estate;
    const taken = String((await service.get(`/v2/tsigkeys/${poolKeys[1]}`)).body.name);
    for (const [kind, scope, id, isInside] of [
      ['pools', 'POOL', pools[0], true],
      ['pools', 'ZONE', zones[0], true],
      ['zones', 'ZONE', zones[0], true],
      ['pools', 'POOL', pools[1]],
      ['pools', 'ZONE', zones[1]],
      ['pools', 'POOL', randomUUID()],
      ['pools', 'ZONE', randomUUID()],
      ['pools', 'ZONE', pools[0]],
      ['zones', 'ZONE', zones[1]],
      ['zones', 'POOL', pools[0]],
      ['zones', 'POOL', zones[0]],
    ] as const) {
      const create = (name?: string) => limited[kind].post('/v2/tsigkeys', keyOf(scope, id, name));
      if (isInside === true) {
        const { status, body } = await create();
        expect(status).toBe(201);
        expect((await limited[kind].delete(`/v2/tsigkeys/${body.id}`)).status).toBe(204);
      } else
        for (const { status, body } of [await create(), await create(taken)])
          expect([status, body]).toMatchObject([403, outsideLimits('TsigKey')]);
    }
  });

  test('403 for zones outside the limits, even by attribute, and 201 within the limits', async () => {
    const zoneIn = (members: object) => ({
      name: `${randomUUID()}.example.`,
      email: 'hostmaster@example.org',
      ...members,
    });
    const [inside, outside] = estate.pools;
    for (const members of [
      {},
      { pool_id: outside },
      { pool_id: randomUUID() },
      { attributes: { pool_id: outside } },
      { pool_id: outside, attributes: { pool_id: inside } },
    ])
      expect((await limited.pools.post('/v2/zones', zoneIn(members))).body).toMatchObject(
        outsideLimits('Zone'),
      );
    const { status, body } = await limited.pools.post('/v2/zones', zoneIn({ pool_id: inside }));
    expect([201, 202]).toContain(status);
    expect((await limited.pools.delete(`/v2/zones/${body.id}`)).status).toBe(202);
  });

  test('409 for the name of a key outside the limits, because names are unique', async () => {
    const { pools, poolKeys } = estate;
    const taken = (await service.get(`/v2/tsigkeys/${poolKeys[1]}`)).body;
    const response = await limited.pools.post(
      '/v2/tsigkeys',
      keyOf('POOL', pools[0], String(taken.name)),
    );
    expect(response.status).toBe(409);
    for (const secret of [taken.id, taken.secret, taken.resource_id])
      expect(response.text).not.toContain(String(secret));
  });
});

describe('update', () => {
  test('403 for a change that moves a key out of the limits', async () => {
    const { pools, zones, poolKeys, zoneKeys } = estate;
    for (const [kind, id, change] of [
      ['pools', poolKeys[0], { resource_id: pools[1] }],
      ['pools', poolKeys[0], { scope: 'ZONE' }],
      ['pools', poolKeys[0], { scope: 'ZONE', resource_id: zones[1] }],
      ['pools', zoneKeys[0], { resource_id: zones[1] }],
      ['pools', zoneKeys[0], { resource_id: randomUUID() }],
      ['zones', zoneKeys[0], { resource_id: zones[1] }],
      ['zones', zoneKeys[0], { scope: 'POOL', resource_id: pools[0] }],
      ['keys', poolKeys[0], { resource_id: pools[1] }],
      ['keys', poolKeys[0], { scope: 'ZONE', resource_id: zones[0] }],
    ] as const) {
      const before = (await service.get(`/v2/tsigkeys/${id}`)).body;
      const { status, body } = await limited[kind].patch(`/v2/tsigkeys/${id}`, change);
      expect(status).toBe(403);
      expect(body).toMatchObject(outsideLimits('TsigKey'));
      expect((await service.get(`/v2/tsigkeys/${id}`)).body).toEqual(before);
    }
  });
});

test('a token with several kinds of limits has access to the resources of each kind', async () => {
  const { pools, zones, poolKeys, zoneKeys } = estate;
  const client = await tokenWith(service, { zones: [zones[0]], keys: [poolKeys[1]] });
  const { body } = await client.get('/v2/tsigkeys');
  const ids = (body.tsigkeys as { id: string }[]).map(({ id }) => id);
  expect(ids.sort()).toEqual([zoneKeys[0], poolKeys[1]].sort());
  expect((await client.get('/v2/pools')).body.pools).toMatchObject([{ id: pools[0] }]);
  expect((await client.get('/v2/tlds')).body.type).toBe('outside_limits');
});

test('limits grant no right that the role does not have', async () => {
  const client = await tokenWith(service, { roles: ['reader'], ...limitsTo(estate).pools });
  expect((await client.get('/v2/tsigkeys')).body.type).toBe('access_denied');
  const { body } = await client.get('/v2/zones');
  expect((body.zones as { id: string }[]).map(({ id }) => id)).toEqual([estate.zones[0]]);
  const other = await tokenWith(service, {
    roles: ['member'],
    project_id: 'other',
    ...limitsTo(estate).pools,
  });
  expect((await other.get('/v2/zones')).body.zones).toEqual([]);
  expect((await other.get(`/v2/zones/${estate.zones[0]}`)).status).toBe(404);
});

test('200 from /v2/whoami with the limits and the remaining rights', async () => {
  const { body } = await limited.keys.get('/v2/whoami');
  expect(body).toMatchObject({
    pools: null,
    zones: null,
    keys: [estate.poolKeys[0]],
    nameservers: null,
    addresses: null,
    project_id: PROJECT,
  });
  expect(body.rights).toContain('tsigkeys:update');
  for (const right of ['tsigkeys:create', 'tokens:create', 'zones:list'])
    expect(body.rights).not.toContain(right);
});

describe('creation of tokens', () => {
  const create = (members: object) =>
    service.post('/v2/tokens', { name: randomUUID(), roles: ['admin'], ...members });

  test('400 for an agent without its name servers', async () => {
    for (const roles of [['nameserver-agent'], ['Nameserver-Agent', 'reader']])
      expect(problemsOf(await create({ roles }))).toEqual(['nameservers: required']);
  });

  test('400 for an unknown role, with the roles of the policy in the message', async () => {
    expect((await create({ roles: ['operator'] })).body.message).toContain(
      "'roles' has the unknown role 'operator'. Use one of: admin, auditor, keymanager, member, nameserver-agent, reader",
    );
    expect((await create({ roles: ['ReadEr'] })).status).toBe(201);
  });
});
