import { beforeAll, describe, expect, test } from 'vitest';
import { expectError, POOL_ID, problemsOf, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor, createZone, primary, secondary, zoneNamesOf } from '../harness/zones.ts';

// test/http/collections.test.ts tests what zones have in common with other resources, and
// test/http/members.test.ts their members.

/**
 * The time of a clock that tests set. Its microseconds advance on each call, so that timestamps
 * differ.
 */
let seconds = Date.UTC(2030, 0, 1) / 1000;
let ticks = 0;
const clock = () =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String((ticks += 1)).padStart(6, '0')}`;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({}, { clock });
});

let count = 0;
/** Returns a zone name that no other test uses. */
const fresh = () => `zone-${(count += 1)}.example.`;
const post = (body: unknown) => service.post('/v2/zones', body);

describe('a new zone', () => {
  test('201 with the status ACTIVE and the defaults of every member', async () => {
    const name = fresh();
    const { id, ...zone } = await createZone(service, primary(name));
    expect(zone).toEqual({
      pool_id: POOL_ID,
      project_id: 'admin',
      name,
      email: 'hostmaster@example.org',
      description: null,
      ttl: 3600,
      serial: seconds,
      shared: false,
      status: 'ACTIVE',
      action: 'NONE',
      version: 1,
      attributes: {},
      type: 'PRIMARY',
      masters: [],
      transferred_at: null,
      created_at: expect.stringMatching(/^2030-01-01T/) as string,
      updated_at: null,
      links: { self: `${service.url}/v2/zones/${id}` },
    });
  });

  test('201 for a SECONDARY zone, with an email from the service, the default TTL and serial 1', async () => {
    const masters = ['192.0.2.1', 'ns1.example.org.'];
    expect(await createZone(service, secondary(fresh(), { masters }))).toMatchObject({
      type: 'SECONDARY',
      masters,
      email: 'hostmaster@example.com',
      ttl: 3600,
      serial: 1,
      status: 'ACTIVE',
    });
  });

  test('403 for a CATALOG zone, and a creation with 4xx stores nothing', async () => {
    const before = zoneNamesOf(await service.get('/v2/zones'));
    expectError(await post(primary(fresh(), { type: 'CATALOG' })), 403, 'forbidden');
    expect((await post(primary('com.'))).status).toBe(400);
    expect((await post(primary(fresh(), { pool_id: UNKNOWN_ID }))).status).toBe(404);
    expect(zoneNamesOf(await service.get('/v2/zones'))).toEqual(before);
  });

  test('409 if the name is taken, in any spelling, by a zone of any type', async () => {
    const { id } = await createZone(service, primary('TAKEN.example.'));
    for (const body of [primary('Taken.Example.'), secondary('taken.example.')])
      expect(expectError(await post(body), 409, 'duplicate_zone')).toBe(
        `Duplicate Zone: the name belongs to 'TAKEN.example.' with the id ${id}`,
      );
  });

  test('400 for missing or excluded members of the zone type, each problem once', async () => {
    const name = fresh();
    for (const [body, ...problems] of [
      [{}, 'name: required', 'email: required'],
      [primary(name, { email: 'nobody', ttl: -1 }), 'email: format', 'ttl: type'],
      [{ name, type: 'SECONDARY' }, 'masters: required'],
      [secondary(name, { email: 'a@b', ttl: 60 }), 'email: not_allowed', 'ttl: not_allowed'],
      [{ name, type: 'secondary', masters: ['192.0.2.1'] }, 'type: enum'],
    ])
      expect(problemsOf(await post(body))).toEqual(problems);
  });
});

describe('an update', () => {
  test('400 for another name, type, pool or attributes, 200 for the same values', async () => {
    const zone = await createZone(service, primary(fresh(), { attributes: { a: '1', b: '2' } }));
    const path = `/v2/zones/${zone.id}`;
    const others = [
      { name: 'other.example.' },
      { name: zone.name.toUpperCase() },
      { type: 'SECONDARY' },
      { pool_id: UNKNOWN_ID },
      { pool_id: null },
      { attributes: { a: '1' } },
    ];
    for (const other of others)
      expect(problemsOf(await service.patch(path, { ...other, ttl: 9 }))).toEqual([
        `${Object.keys(other)[0]}: immutable`,
      ]);
    const same = {
      name: zone.name,
      type: 'PRIMARY',
      pool_id: POOL_ID.toUpperCase(),
      attributes: { b: '2', a: '1' },
    };
    const { status, body } = await service.patch(path, { ...same, ttl: 9 });
    const { serial, updated_at } = body;
    expect([status, body]).toEqual([200, { ...zone, ttl: 9, version: 2, serial, updated_at }]);
  });

  test('200 increments the version, and the serial when email or ttl changes, even if the clock is set back', async () => {
    const zone = await createZone(service, primary(fresh()));
    expect(zone.serial).toBe(seconds);
    let version = 1;
    const serialAfter = async (change: object) => {
      const { body } = await service.patch(`/v2/zones/${zone.id}`, change);
      expect(body).toMatchObject({ version: (version += 1), status: 'ACTIVE', action: 'NONE' });
      return body.serial as number;
    };
    expect(await serialAfter({ ttl: 10 })).toBe(seconds + 1);
    expect(await serialAfter({ email: 'new@example.org' })).toBe(seconds + 2);
    seconds += 100;
    for (const change of [{ description: 'x' }, { ttl: 10 }, {}])
      expect(await serialAfter(change)).toBe(seconds - 98);
    expect(await serialAfter({ ttl: 11 })).toBe(seconds);
    seconds -= 50;
    expect(await serialAfter({ ttl: 12 })).toBe(seconds + 51);
    const { id } = await createZone(service, secondary(fresh()));
    const changed = await service.patch(`/v2/zones/${id}`, { masters: ['192.0.2.7'] });
    expect(changed.body).toMatchObject({ masters: ['192.0.2.7'], serial: 1 });
  });
});

describe('a deletion', () => {
  test('202 with status PENDING and action DELETE', async () => {
    const zone = await createZone(service, primary(fresh()));
    const response = await service.delete(`/v2/zones/${zone.id}`);
    expect(response.status).toBe(202);
    expect(response.body).toEqual({ ...zone, status: 'PENDING', action: 'DELETE' });
    expect(zoneNamesOf(await service.get('/v2/zones'))).not.toContain(zone.name);
  });

  test('400 if the zone has a subzone, at any depth and in any spelling', async () => {
    const parent = await createZone(service, primary('Parent.example.'));
    const child = await createZone(service, primary('a.b.PARENT.example.'));
    // Names that are close in sort order, but are not subzones.
    for (const name of ['xparent.example.', 'parent-x.example.', 'parent.example.org.'])
      await createZone(service, primary(name));
    expect(
      expectError(await service.delete(`/v2/zones/${parent.id}`), 400, 'zone_has_sub_zone'),
    ).toBe("The zone has subzones. Delete them first: 'a.b.PARENT.example.'");
    expect((await service.get(`/v2/zones/${parent.id}`)).body).toEqual(parent);
    expect((await service.delete(`/v2/zones/${child.id}`)).status).toBe(202);
    expect((await service.delete(`/v2/zones/${parent.id}`)).status).toBe(202);
  });
});

test('200 with the NS records of the pool as the name servers of a zone, 404 for the zone of another project', async () => {
  const records = [
    { priority: 20, hostname: 'ns2.example.org.' },
    { priority: 10, hostname: 'ns1.example.org.' },
  ];
  const pool = (await service.post('/v2/pools', { name: 'served', ns_records: records })).body;
  const zone = await createZone(service, primary(fresh(), { pool_id: pool.id }));
  const path = `/v2/zones/${zone.id}/nameservers`;
  const reader = await clientFor(service, ['reader'], 'admin');
  for (const nameservers of [records, records.slice(1), []]) {
    await service.patch(`/v2/pools/${pool.id}`, { ns_records: nameservers });
    const response = await reader.get(path);
    expect([response.status, response.body]).toEqual([200, { nameservers }]);
  }
  const foreign = await clientFor(service, ['member'], 'red');
  expectError(await foreign.get(path), 404, 'zone_not_found');
  expectError(await service.get(`/v2/zones/${UNKNOWN_ID}/nameservers`), 404, 'zone_not_found');
});

test('200 with every limit, even for readers, and with the quota of zones as max_zones', async () => {
  const limits = {
    max_zones: -1,
    max_zone_recordsets: 0,
    max_zone_records: 0,
    max_recordset_records: 0,
    min_ttl: null,
    max_zone_name_length: 255,
    max_recordset_name_length: 255,
    max_page_limit: 1000,
  };
  const reader = await clientFor(service, ['reader'], 'red');
  expect((await reader.get('/v2/limits')).body).toEqual(limits);
  const limited = await startTestService({ TSIGIL_ZONES_PER_PROJECT: '1' });
  expect((await limited.get('/v2/limits')).body).toEqual({ ...limits, max_zones: 1 });
});
