import { beforeAll, describe, expect, test } from 'vitest';
import { expectError, POOL_ID, problemsOf } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { createZone, primary, secondary, zoneNamesOf } from '../harness/zones.ts';

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
const fresh = () => `zone-${(count += 1)}.example.`;

describe('an update', () => {
  test('200 with the whole zone, and members that are not in the body do not change', async () => {
    const zone = await createZone(service, primary(fresh(), { description: 'one', ttl: 60 }));
    const response = await service.patch(`/v2/zones/${zone.id}`, { description: 'two' });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      ...zone,
      description: 'two',
      version: 2,
      updated_at: expect.stringMatching(/^2030-01-01T/),
    });
    expect(response.body.updated_at > (zone.created_at as string)).toBe(true);
    expect((await service.get(`/v2/zones/${zone.id}`)).body).toEqual(response.body);
  });

  test('200 for each member that callers may change', async () => {
    const { id } = await createZone(service, primary(fresh()));
    const changes = [
      { email: 'other@example.org' },
      { ttl: 7 },
      { ttl: '8' },
      { description: 'x' },
      { description: null },
      { masters: [] },
      {},
    ];
    for (const [index, change] of changes.entries()) {
      const { status, body } = await service.patch(`/v2/zones/${id}`, change);
      expect({ status, ...body }).toMatchObject({
        ...change,
        ...('ttl' in change ? { ttl: Number(change.ttl) } : {}),
        status: 'ACTIVE',
        action: 'NONE',
      });
      expect(body.version).toBe(index + 2);
    }
  });

  test('200 for a change of the primaries of a SECONDARY zone, with the same serial', async () => {
    const { id } = await createZone(service, secondary(fresh()));
    seconds += 10;
    const { status, body } = await service.patch(`/v2/zones/${id}`, {
      masters: ['192.0.2.7:53', 'ns2.example.org.:5300'],
    });
    expect([status, body.masters, body.serial]).toEqual([
      200,
      ['192.0.2.7', 'ns2.example.org.:5300'],
      1,
    ]);
  });

  test('400 for members that the type of the zone excludes', async () => {
    const one = await createZone(service, primary(fresh()));
    const other = await createZone(service, secondary(fresh()));
    expect(
      problemsOf(await service.patch(`/v2/zones/${one.id}`, { masters: ['192.0.2.1'] })),
    ).toEqual(['masters: not_allowed']);
    expect(problemsOf(await service.patch(`/v2/zones/${other.id}`, { masters: [] }))).toEqual([
      'masters: required',
    ]);
    expect(
      problemsOf(await service.patch(`/v2/zones/${other.id}`, { email: 'a@b', ttl: 5 })),
    ).toEqual(['email: not_allowed', 'ttl: not_allowed']);
    for (const { id } of [one, other])
      expect((await service.get(`/v2/zones/${id}`)).body).toMatchObject({
        version: 1,
        updated_at: null,
      });
  });

  test('400 with every invalid value', async () => {
    const { id } = await createZone(service, primary(fresh()));
    const response = await service.patch(`/v2/zones/${id}`, {
      email: 'nobody',
      ttl: -1,
      description: 5,
      junk: 1,
    });
    expect(problemsOf(response)).toEqual([
      'email: format',
      'description: type',
      'ttl: type',
      'junk: additionalProperties',
    ]);
    expect(problemsOf(await service.patch(`/v2/zones/${id}`, { email: null, ttl: null }))).toEqual([
      'email: type',
      'ttl: type',
    ]);
  });

  test('400 for another name, type, pool or attributes, 200 for the same values', async () => {
    const zone = await createZone(service, primary(fresh(), { attributes: { a: '1', b: '2' } }));
    const path = `/v2/zones/${zone.id}`;
    const others = {
      name: 'other.example.',
      type: 'SECONDARY',
      pool_id: '00000000-0000-4000-8000-000000000000',
      attributes: { a: '1' },
    };
    for (const [member, value] of Object.entries(others)) {
      expect(problemsOf(await service.patch(path, { [member]: value, ttl: 9 }))).toEqual([
        `${member}: immutable`,
      ]);
    }
    expect(problemsOf(await service.patch(path, { name: zone.name.toUpperCase() }))).toEqual([
      'name: immutable',
    ]);
    expect(problemsOf(await service.patch(path, { pool_id: null }))).toEqual([
      'pool_id: immutable',
    ]);
    const same = {
      name: zone.name,
      type: 'PRIMARY',
      pool_id: POOL_ID.toUpperCase(),
      attributes: { b: '2', a: '1' },
    };
    const { status, body } = await service.patch(path, { ...same, ttl: 9 });
    expect([status, body]).toEqual([
      200,
      { ...zone, ttl: 9, version: 2, serial: body.serial, updated_at: body.updated_at },
    ]);
  });

  test('415 or 400 for bodies that are not JSON objects', async () => {
    const { id } = await createZone(service, primary(fresh()));
    expectError(
      await service.call('PATCH', `/v2/zones/${id}`, '{}', { 'content-type': 'text/plain' }),
      415,
      'unsupported_content_type',
    );
    expectError(await service.call('PATCH', `/v2/zones/${id}`, '{'), 400, 'invalid_json');
    expectError(await service.patch(`/v2/zones/${id}`, []), 400, 'invalid_object');
  });
});

describe('the serial', () => {
  test('200 increments the serial when email or ttl changes', async () => {
    const zone = await createZone(service, primary(fresh()));
    expect(zone.serial).toBe(seconds);
    const serialAfter = async (change: object) =>
      (await service.patch(`/v2/zones/${zone.id}`, change)).body.serial as number;

    expect(await serialAfter({ ttl: 10 })).toBe(seconds + 1);
    expect(await serialAfter({ email: 'new@example.org' })).toBe(seconds + 2);
    seconds += 100;
    expect(await serialAfter({ description: 'x' })).toBe(seconds - 98);
    expect(await serialAfter({ ttl: 10 })).toBe(seconds - 98);
    expect(await serialAfter({})).toBe(seconds - 98);
    expect(await serialAfter({ ttl: 11 })).toBe(seconds);
    seconds -= 50; // sets the clock back
    expect(await serialAfter({ ttl: 12 })).toBe(seconds + 51);
  });
});

describe('a deletion', () => {
  test('202 with status PENDING and action DELETE, then 404, and the name can be used again', async () => {
    const zone = await createZone(service, primary(fresh()));
    const response = await service.delete(`/v2/zones/${zone.id}`);
    expect(response.status).toBe(202);
    expect(response.body).toEqual({ ...zone, status: 'PENDING', action: 'DELETE' });
    for (const method of ['GET', 'DELETE', 'PATCH']) {
      expectError(
        await service.call(method, `/v2/zones/${zone.id}`, method === 'PATCH' ? {} : undefined),
        404,
        'zone_not_found',
      );
    }
    expect(zoneNamesOf(await service.get('/v2/zones'))).not.toContain(zone.name);
    expect((await createZone(service, primary(zone.name))).id).not.toBe(zone.id);
  });

  test('400 if the zone has a subzone, at any depth and in any spelling', async () => {
    const parent = await createZone(service, primary('Parent.example.'));
    const child = await createZone(service, primary('a.b.PARENT.example.'));
    // Names that are close in sort order, but are not subzones.
    for (const name of [
      'xparent.example.',
      'parent-x.example.',
      'parent.example.org.',
      'parent0.example.',
    ])
      await createZone(service, primary(name));
    expect(
      expectError(await service.delete(`/v2/zones/${parent.id}`), 400, 'zone_has_sub_zone'),
    ).toBe("The zone has subzones. Delete them first: 'a.b.PARENT.example.'");
    expect((await service.get(`/v2/zones/${parent.id}`)).body).toEqual(parent);
    expect((await service.delete(`/v2/zones/${child.id}`)).status).toBe(202);
    expect((await service.delete(`/v2/zones/${parent.id}`)).status).toBe(202);
  });
});
