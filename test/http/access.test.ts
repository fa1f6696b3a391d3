import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../harness/client.ts';
import { createEstate, tokenWith, type Estate } from '../harness/limited-tokens.ts';
import { expectError, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

interface Access {
  readonly tokens: readonly { readonly name: string; readonly rights: readonly string[] }[];
  readonly roles: readonly { readonly role: string; readonly rights: readonly string[] }[];
}

const ROLES = ['admin', 'keymanager', 'auditor', 'member', 'reader'];

let service: TestService;
let estate: Estate;
let keys: string[];
const holders = new Map<string, Client>();

beforeAll(async () => {
  service = await startTestService();
  estate = await createEstate(service);
  const { pools, zones, poolKeys, zoneKeys, nameServers } = estate;
  keys = [...poolKeys, ...zoneKeys];
  const limits: Record<string, object> = {
    none: {},
    pool: { pools: [pools[0]] },
    zone: { zones: [zones[0]] },
    'other zone and key': { zones: [zones[1]], keys: [poolKeys[0]] },
    key: { keys: [zoneKeys[1]] },
    address: { addresses: ['127.0.0.0/8', '::1'] },
    agent: { nameservers: [nameServers[0]] },
  };
  for (const [kind, members] of Object.entries(limits))
    for (const role of kind === 'agent' ? ['nameserver-agent'] : ROLES) {
      const name = `${role} limited to ${kind}`;
      holders.set(name, await tokenWith(service, { name, roles: [role], ...members }));
    }
});

const accessTo = async (key?: string): Promise<Access> => {
  const { status, body, text } = await service.get(
    key === undefined ? '/v2/access' : `/v2/tsigkeys/${key}/access`,
  );
  expect(status, text).toBe(200);
  return body as Access;
};
const namesIn = ({ tokens }: Access) =>
  tokens.map(({ name }) => name).filter((name) => holders.has(name));

/** Returns the ids of the keys whose secrets a caller gets, by asking for all of them. */
async function secretsOf(name: string, client: Client): Promise<string[]> {
  if (name.startsWith('nameserver-agent')) {
    const path = `/v2/nameservers/${estate.nameServers[0]}/desired?agent=${randomUUID()}`;
    const { body } = await client.get(path);
    return (body.state.keys as { id: string }[]).map(({ id }) => id);
  }
  const found: string[] = [];
  for (const id of keys) {
    const { body } = await client.get(`/v2/tsigkeys/${id}`);
    if (typeof body.secret === 'string') found.push(id);
  }
  return found;
}

test('200 with exactly the tokens to which the service shows the secret of a key', async () => {
  const readable = new Map<string, string[]>();
  for (const [name, client] of holders) readable.set(name, await secretsOf(name, client));
  for (const key of keys) {
    const expected = [...holders.keys()].filter((name) => readable.get(name)?.includes(key));
    expect(namesIn(await accessTo(key))).toEqual(expected.toSorted());
    expect(expected).not.toEqual([]);
  }
  const some = [...holders.keys()].filter((name) => readable.get(name)?.length !== 0);
  expect(namesIn(await accessTo())).toEqual(some.toSorted());
});

test('200 with the reason, the limits, the expiry and the last use, but not the token or its hash', async () => {
  const { body, text } = await service.get(`/v2/tsigkeys/${estate.zoneKeys[0]}/access`);
  const { tokens, roles } = body as Access;
  const named = (name: string) => tokens.find((token) => token.name === name);
  expect(named('keymanager limited to zone')).toEqual({
    id: expect.any(String) as string,
    name: 'keymanager limited to zone',
    roles: ['keymanager'],
    rights: ['tsigkeys:reveal'],
    pools: null,
    zones: [estate.zones[0]],
    keys: null,
    nameservers: null,
    addresses: null,
    expires_at: null,
    last_used_at: null,
  });
  expect(named('admin limited to zone')?.rights).toEqual(['tsigkeys:reveal']);
  expect(named('admin limited to none')?.rights).toContain('tokens:create');
  expect(named('nameserver-agent limited to agent')?.rights).toEqual(['nameservers:desired']);
  expect(roles).toEqual([
    { role: 'admin', rights: ['tsigkeys:reveal', 'nameservers:desired', 'tokens:create'] },
    { role: 'keymanager', rights: ['tsigkeys:reveal'] },
  ]);
  expect(text).not.toMatch(/tsigil_|"hash"/);
});

test('200 without tokens that are expired or were revoked', async () => {
  const body = { name: 'short', roles: ['keymanager'], expires_at: inMs(1500) };
  expect((await service.post('/v2/tokens', body)).status).toBe(201);
  const revoked = await service.post('/v2/tokens', { name: 'revoked', roles: ['keymanager'] });
  await service.delete(`/v2/tokens/${String(revoked.body.id)}`);
  const listed = async () => (await accessTo()).tokens.map(({ name }) => name);
  expect(await listed()).not.toContain('revoked');
  await expect.poll(listed).not.toContain('short');
});

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 23);

test('200 with the roles and tokens that a configured policy permits', async () => {
  const other = await startTestService({
    TSIGIL_POLICY: JSON.stringify({
      'tsigkeys:reveal': ['guardian'],
      'tsigkeys:get': ['guardian', 'auditor'],
      'tsigkeys:list': ['auditor'],
      'nameservers:desired': ['nobody'],
    }),
  });
  for (const role of ['guardian', 'auditor', 'keymanager'])
    await other.post('/v2/tokens', { name: role, roles: [role] });
  const { body } = await other.get('/v2/access');
  const { tokens, roles } = body as Access;
  expect(tokens.map(({ name, rights }) => [name, ...rights])).toEqual([
    ['guardian', 'tsigkeys:reveal'],
  ]);
  expect(roles).toEqual([
    { role: 'admin', rights: ['tokens:create'] },
    { role: 'guardian', rights: ['tsigkeys:reveal'] },
    { role: 'nobody', rights: ['nameservers:desired'] },
  ]);
});

describe('refusals', () => {
  test.each(['/v2/access', `/v2/tsigkeys/${UNKNOWN_ID}/access`])(
    '401 for callers who may not list tokens, whether or not the key exists: %s',
    async (path) => {
      for (const role of ['keymanager', 'member', 'reader']) {
        const response = await holders.get(`${role} limited to none`)?.get(path);
        if (response === undefined) throw new Error(role);
        expectError(response, 401, 'access_denied');
      }
      const limited = await holders.get('admin limited to zone')?.get(path);
      expect([limited?.status, limited?.body.type]).toEqual([403, 'outside_limits']);
    },
  );

  test('404 for an unknown key', async () => {
    const response = await service.get(`/v2/tsigkeys/${UNKNOWN_ID}/access`);
    expectError(response, 404, 'tsigkey_not_found');
  });
});
