import { beforeAll, describe, expect, test } from 'vitest';
import { expectError, POOL_ID, problemsOf, UNKNOWN_ID } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { clientFor, createZone, primary, secondary, zoneNamesOf } from '../harness/zones.ts';

// test/http/collections.test.ts tests what zones have in common with other resources.

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
});

describe('names', () => {
  const label63 = 'a'.repeat(63);
  const longest = `${label63}.${label63}.${label63}.${'b'.repeat(61)}.`;

  test.each([
    'Mixed.Case.',
    '_tcp.a_b.',
    'a--b.1.',
    'xn--e1afmkfd.xn--p1ai.',
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
    '.a.',
    '.',
    'a..b.',
    '-a.com.',
    'a-.com.',
    '*.com.',
    'a b.com.',
    'a.com.\n',
    'a/b.com.',
    `a.${'a'.repeat(64)}.`,
    'пример.рф.',
    'ａ.com.',
    'example.com',
    'a\u200b.com.',
    'a\\.b.',
    'a\0.com.',
  ])('400 for the name %j', async (name) => {
    expect(problemsOf(await post(primary(name)))).toEqual(['name: format']);
  });

  test('400 for a name that is too long or no text', async () => {
    for (const [name, validator] of [
      ['', 'minLength'],
      [`a${longest}`, 'maxLength'],
      [null, 'type'],
      [['example.com.'], 'type'],
    ] as const)
      expect(problemsOf(await post(primary(fresh(), { name })))).toEqual([`name: ${validator}`]);
  });

  test('400 with a valid alternative in the message', async () => {
    for (const name of ['пример.рф.', 'пример.рф'])
      expect(expectError(await post(primary(name)), 400, 'invalid_object')).toContain(
        "send 'xn--e1afmkfd.xn--p1ai.'",
      );
    expect(expectError(await post(primary('example.com')), 400, 'invalid_object')).toContain(
      "send 'example.com.'",
    );
  });

  test('409 if the name is taken, in any spelling, by a zone of any type', async () => {
    const { id } = await createZone(service, primary('TAKEN.example.'));
    for (const body of [primary('Taken.Example.'), secondary('taken.example.')])
      expect(expectError(await post(body), 409, 'duplicate_zone')).toBe(
        `Duplicate Zone: the name belongs to 'TAKEN.example.' with the id ${id}`,
      );
  });
});

describe('members', () => {
  const CASES: readonly (readonly [
    member: string,
    good: readonly unknown[],
    bad: readonly (readonly [value: unknown, validator: string])[],
  ])[] = [
    [
      'email',
      [
        'a@b',
        `${'a'.repeat(63)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(62)}`,
        'A_b-c@x.y',
      ],
      [
        ...['abc', '@bc', 'a@b@c', 'a b@c.d', 'a@b.', '.a@b', 'a@bücher.example'].map(
          (email) => [email, 'format'] as const,
        ),
        ['a@', 'minLength'],
        [`a@${'b.'.repeat(126)}bb`, 'maxLength'],
        [null, 'type'],
      ],
    ],
    [
      'ttl',
      [0, 2_147_483_647, '0', '2147483647'],
      [-1, 2_147_483_648, 1.5, '-1', '', ' 5', '1e3', null, true, 1e300].map(
        (ttl) => [ttl, 'type'] as const,
      ),
    ],
    [
      'description',
      [null, '', '\u{1f600}'.repeat(160), 'two\nlines'],
      [
        ['x'.repeat(161), 'maxLength'],
        [5, 'type'],
        ['a\0', 'format'],
      ],
    ],
    [
      'attributes',
      [{}, { ['x'.repeat(50)]: 'y'.repeat(50) }, JSON.parse('{"__proto__":"a","constructor":"b"}')],
      [
        [{ ['x'.repeat(51)]: 'y' }, 'maxLength'],
        [{ a: 'x'.repeat(51) }, 'maxLength'],
        [{ a: null }, 'type'],
        [[], 'type'],
        [
          Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`a${index}`, ''])),
          'maxProperties',
        ],
      ],
    ],
    ['type', ['PRIMARY'], [null, 'primary', 1].map((type) => [type, 'enum'] as const)],
    [
      'pool_id',
      [null, POOL_ID, POOL_ID.toUpperCase(), `{${POOL_ID}}`],
      ['default', 5].map((id) => [id, 'format'] as const),
    ],
    [
      'masters',
      [[]],
      [
        ['192.0.2.1', 'type'],
        [[null], 'format'],
        [['192.0.2.1'], 'not_allowed'],
      ],
    ],
  ];

  test.each(CASES)('201 for valid %s, 400 for other values', async (member, good, bad) => {
    for (const value of good) {
      const created = await createZone(service, primary(fresh(), { [member]: value }));
      const shown = member === 'pool_id' ? POOL_ID : value;
      const expected = member === 'ttl' ? Number(value) : shown;
      expect(created[member]).toEqual(expected);
      expect((await service.get(`/v2/zones/${created.id}`)).body[member]).toEqual(expected);
    }
    for (const [value, validator] of bad)
      expect(
        problemsOf(await post(primary(fresh(), { [member]: value }))),
        JSON.stringify(value),
      ).toEqual([`${member}: ${validator}`]);
  });

  test.each([
    ['192.0.2.1:00053', '192.0.2.1'],
    ['192.0.2.1:65535'],
    ['ns1.example.org.:853'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:53', '2001:db8::1'],
    ['[2001:db8::1]:5300'],
  ])('201 for the primary %s', async (given, kept = given) => {
    const { masters } = await createZone(service, secondary(fresh(), { masters: [given] }));
    expect(masters).toEqual([kept]);
  });

  test.each([
    '',
    '192.0.2.1:0',
    '192.0.2.1:65536',
    '192.0.2.1:x',
    ':53',
    '192.0.2.256',
    '[192.0.2.1]',
    '[2001:db8::1',
    'fe80::1%eth0',
    'a b',
    'http://192.0.2.1',
    '192.0.2.1/24',
    '192.0.2.1:53\n',
  ])('400 for the primary %j', async (master) => {
    const response = await post(secondary(fresh(), { masters: [master] }));
    expect(problemsOf(response)).toEqual(['masters: format']);
  });

  test('400 for more than 50 primaries, or a primary that is repeated in another spelling', async () => {
    const many = Array.from({ length: 51 }, (_, index) => `192.0.2.${index}`);
    const problemsWith = async (masters: string[]) =>
      problemsOf(await post(secondary(fresh(), { masters })));
    expect(await problemsWith(many)).toEqual(['masters: items']);
    expect(await problemsWith(['192.0.2.1', '192.0.2.1:53'])).toEqual(['masters: uniqueItems']);
    expect((await post(secondary(fresh(), { masters: many.slice(1) }))).status).toBe(201);
  });

  test('400 for missing or excluded members of the zone type, each problem once', async () => {
    const name = fresh();
    for (const [body, ...problems] of [
      [{}, 'name: required', 'email: required'],
      [primary(name, { masters: ['192.0.2.1'] }), 'masters: not_allowed'],
      [primary(name, { email: 'nobody', ttl: -1 }), 'email: format', 'ttl: type'],
      [{ name, type: 'SECONDARY' }, 'masters: required'],
      [secondary(name, { masters: [] }), 'masters: required'],
      [secondary(name, { masters: 'x' }), 'masters: type'],
      [secondary(name, { email: 'a@b', ttl: 60 }), 'email: not_allowed', 'ttl: not_allowed'],
      [{ name, type: 'secondary', masters: ['192.0.2.1'] }, 'type: enum'],
    ])
      expect(problemsOf(await post(body))).toEqual(problems);
  });

  test('400 for members that callers cannot set', async () => {
    const zone = await createZone(service, primary(fresh()));
    const readOnly = ['project_id', 'serial', 'shared', 'status', 'action', 'version'];
    for (const [member, validator] of [
      ...[...readOnly, 'transferred_at'].map((name) => [name, 'readOnly'] as const),
      ...['tenant_id', 'name_key'].map((name) => [name, 'additionalProperties'] as const),
    ])
      for (const value of [zone[member] ?? null, 'x']) {
        const given = { [member]: value };
        expect(problemsOf(await post(primary(fresh(), given)))).toEqual([
          `${member}: ${validator}`,
        ]);
        const changed = await service.patch(`/v2/zones/${zone.id}`, { ttl: 5, ...given });
        expect(problemsOf(changed)).toEqual([`${member}: ${validator}`]);
      }
    expect((await service.get(`/v2/zones/${zone.id}`)).body).toEqual(zone);
  });
});

describe('an update', () => {
  test('200 for each member that callers may change, and each change increments the version', async () => {
    const { id } = await createZone(service, primary(fresh()));
    const changes = [
      { email: 'other@example.org' },
      { ttl: '8' },
      { description: 'x' },
      { description: null },
      { masters: [] },
    ];
    for (const [index, change] of changes.entries()) {
      const { status, body } = await service.patch(`/v2/zones/${id}`, change);
      const shown = 'ttl' in change ? { ttl: 8 } : change;
      expect([status, body]).toMatchObject([200, { ...shown, status: 'ACTIVE', action: 'NONE' }]);
      expect(body.version).toBe(index + 2);
    }
  });

  test('200 for a change of the primaries of a SECONDARY zone, with the same serial', async () => {
    const { id } = await createZone(service, secondary(fresh()));
    seconds += 10;
    const masters = ['192.0.2.7:53', 'ns2.example.org.:5300'];
    const { status, body } = await service.patch(`/v2/zones/${id}`, { masters });
    expect([status, body.masters, body.serial]).toEqual([
      200,
      ['192.0.2.7', 'ns2.example.org.:5300'],
      1,
    ]);
  });

  test('400 for members that the type of the zone excludes, and with every invalid value', async () => {
    const one = await createZone(service, primary(fresh()));
    const other = await createZone(service, secondary(fresh()));
    for (const [zone, change, ...problems] of [
      [one, { masters: ['192.0.2.1'] }, 'masters: not_allowed'],
      [other, { masters: [] }, 'masters: required'],
      [other, { email: 'a@b', ttl: 5 }, 'email: not_allowed', 'ttl: not_allowed'],
      [one, { email: 'nobody', ttl: -1 }, 'email: format', 'ttl: type'],
      [one, { email: null, ttl: null }, 'email: type', 'ttl: type'],
    ] as const)
      expect(problemsOf(await service.patch(`/v2/zones/${zone.id}`, change))).toEqual(problems);
    for (const zone of [one, other])
      expect((await service.get(`/v2/zones/${zone.id}`)).body).toEqual(zone);
  });

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

  test('200 increments the serial when email or ttl changes, even if the clock is set back', async () => {
    const zone = await createZone(service, primary(fresh()));
    expect(zone.serial).toBe(seconds);
    const serialAfter = async (change: object) =>
      (await service.patch(`/v2/zones/${zone.id}`, change)).body.serial as number;
    expect(await serialAfter({ ttl: 10 })).toBe(seconds + 1);
    expect(await serialAfter({ email: 'new@example.org' })).toBe(seconds + 2);
    seconds += 100;
    for (const change of [{ description: 'x' }, { ttl: 10 }, {}])
      expect(await serialAfter(change)).toBe(seconds - 98);
    expect(await serialAfter({ ttl: 11 })).toBe(seconds);
    seconds -= 50;
    expect(await serialAfter({ ttl: 12 })).toBe(seconds + 51);
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
