import { beforeAll, describe, expect, test } from 'vitest';
import { expectError, POOL_ID, problemsOf } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { createZone, primary, secondary, ZONE_MEMBERS, zoneNamesOf } from '../harness/zones.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let count = 0;
/** Returns a zone name that no other test uses. */
const fresh = () => `zone-${(count += 1)}.example.`;
const post = (body: unknown) => service.post('/v2/zones', body);

describe('a new zone', () => {
  test('201 with every member, the status ACTIVE, and the URL in Location', async () => {
    const name = fresh();
    const before = Math.floor(Date.now() / 1000);
    const response = await post(primary(name));
    expect(response.status).toBe(201);
    expect(Object.keys(response.body)).toEqual(ZONE_MEMBERS);
    const { id, created_at: createdAt, serial } = response.body;
    expect(response.body).toEqual({
      id: expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      pool_id: POOL_ID,
      project_id: 'admin',
      name,
      email: 'hostmaster@example.org',
      description: null,
      ttl: 3600,
      serial: Math.floor(Date.parse(`${createdAt.slice(0, 19)}Z`) / 1000),
      shared: false,
      status: 'ACTIVE',
      action: 'NONE',
      version: 1,
      attributes: {},
      type: 'PRIMARY',
      masters: [],
      transferred_at: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/),
      updated_at: null,
      links: { self: `${service.url}/v2/zones/${id}` },
    });
    expect(Math.abs(serial - before)).toBeLessThanOrEqual(60);
    expect(response.headers.get('location')).toBe(`${service.url}/v2/zones/${id}`);
    expect((await service.get(`/v2/zones/${id}`)).body).toEqual(response.body);
  });

  test('201 for a SECONDARY zone, with an email from the service, the default TTL and serial 1', async () => {
    const body = secondary(fresh(), { masters: ['192.0.2.1', 'ns1.example.org.'] });
    expect(await createZone(service, body)).toMatchObject({
      type: 'SECONDARY',
      masters: ['192.0.2.1', 'ns1.example.org.'],
      email: 'hostmaster@example.com',
      ttl: 3600,
      serial: 1,
      status: 'ACTIVE',
      transferred_at: null,
    });
  });

  test('201 with every member that a caller may set', async () => {
    const given = {
      ...primary(fresh()),
      type: 'PRIMARY',
      ttl: 60,
      description: 'Ж',
      attributes: { tier: 'gold' },
      masters: [],
      pool_id: POOL_ID,
    };
    const created = await createZone(service, given);
    expect(created).toMatchObject(given);
    expect((await service.get(`/v2/zones/${created.id}`)).body).toEqual(created);
  });

  test('403 for a CATALOG zone, because callers cannot create CATALOG zones', async () => {
    expectError(await post(primary(fresh(), { type: 'CATALOG' })), 403, 'forbidden');
  });
});

describe('names', () => {
  const label63 = 'a'.repeat(63);
  const longest = `${label63}.${label63}.${label63}.${'b'.repeat(61)}.`;

  test.each([
    'example.com.',
    'Mixed.Case.',
    '_tcp.a_b.',
    'a--b.1.',
    'xn--e1afmkfd.xn--p1ai.',
    `${label63}.x.`,
    longest,
    '1.2.',
    'a.'.repeat(127),
  ])('201 for %s, stored in this spelling', async (name) => {
    const { id } = await createZone(service, primary(name));
    expect((await service.get(`/v2/zones/${id}`)).body.name).toBe(name);
    expect((await service.delete(`/v2/zones/${id}`)).status).toBe(202);
  });

  test.each([
    '___',
    'ggg',
    '.a',
    '.a.',
    '.',
    'a..b.',
    '-a.com.',
    'a-.com.',
    '*.com.',
    'a b.com.',
    'a.com.\n',
    ' a.com.',
    'a/b.com.',
    '@.com.',
    '^&$.',
    `a.${'a'.repeat(64)}.`,
    'пример.рф.',
    'ａ.com.',
    'example.com',
    'a\u200b.com.',
    'com%.',
    'a\\.b.',
  ])('400 for the name %j', async (name) => {
    expect(problemsOf(await post(primary(name)))).toEqual(['name: format']);
  });

  test.each([
    ['', 'minLength'],
    [`a${longest}`, 'maxLength'],
    ['a'.repeat(1000), 'maxLength'],
    [null, 'type'],
    [5, 'type'],
    [['example.com.'], 'type'],
    ['a\0.com.', 'format'],
  ])('400 for the name %j, because it violates the rule %s', async (name, validator) => {
    expect(problemsOf(await post(primary(fresh(), { name })))).toEqual([`name: ${validator}`]);
  });

  test('400 with a valid alternative in the message', async () => {
    expect(expectError(await post(primary('пример.рф.')), 400, 'invalid_object')).toContain(
      "send 'xn--e1afmkfd.xn--p1ai.'",
    );
    expect(expectError(await post(primary('пример.рф')), 400, 'invalid_object')).toContain(
      "send 'xn--e1afmkfd.xn--p1ai.'",
    );
    expect(expectError(await post(primary('example.com')), 400, 'invalid_object')).toContain(
      "send 'example.com.'",
    );
  });

  test('400 for a single label, even without TLD entries', async () => {
    const message = expectError(await post(primary('com.')), 400, 'invalid_zone_name');
    expect(message).toMatch(/^More than one label is required/);
  });

  test.each(['Taken.Example.', 'taken.example.'])(
    '409 if the name is taken, for the spelling %s',
    async (name) => {
      const { id } = await createZone(service, primary('TAKEN.example.'));
      const message = `Duplicate Zone: the name belongs to 'TAKEN.example.' with the id ${id}`;
      expect(expectError(await post(primary(name)), 409, 'duplicate_zone')).toBe(message);
      expect(expectError(await post(secondary(name)), 409, 'duplicate_zone')).toBe(message);
      await service.delete(`/v2/zones/${id}`);
      expect((await post(primary(name))).status).toBe(201);
      await service.delete(
        `/v2/zones/${(await service.get(`/v2/zones?name=${name}`)).body.zones[0].id}`,
      );
    },
  );
});

test('404 for an unknown zone, 400 for an invalid id', async () => {
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? {} : undefined;
    const unknown = await service.call(
      method,
      '/v2/zones/00000000-0000-4000-8000-000000000000',
      body,
    );
    expect(expectError(unknown, 404, 'zone_not_found')).toBe('Could not find Zone');
    expect(
      expectError(await service.call(method, '/v2/zones/zahlabut', body), 400, 'invalid_uuid'),
    ).toBe('Invalid UUID zone_id: zahlabut');
  }
  expectError(await service.get('/v2/zones.json'), 404, 'not_found');
});

test('a creation with 4xx stores nothing', async () => {
  const before = zoneNamesOf(await service.get('/v2/zones'));
  expect((await post(primary('com.'))).status).toBe(400);
  expect((await post(primary(fresh(), { type: 'CATALOG' }))).status).toBe(403);
  expect(
    (await post(primary(fresh(), { pool_id: '00000000-0000-4000-8000-000000000000' }))).status,
  ).toBe(404);
  expect(zoneNamesOf(await service.get('/v2/zones'))).toEqual(before);
});
