import { beforeAll, describe, expect, test } from 'vitest';
import { POOL_ID, problemsOf } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { createZone, primary, secondary } from '../harness/zones.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let count = 0;
/** Returns a zone name that no other test uses. */
const fresh = () => `member-${(count += 1)}.example.`;
const post = (body: unknown) => service.post('/v2/zones', body);

describe('members', () => {
  const cases: readonly (readonly [
    member: string,
    good: readonly unknown[],
    bad: readonly (readonly [unknown, string])[],
  ])[] = [
    [
      'email',
      [
        'a@b',
        'host.master@example.org',
        `${'a'.repeat(63)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(62)}`,
        'A_b-c@x.y',
      ],
      [
        ...[
          'abc',
          '@bc',
          'ab@',
          'a@b@c',
          'a b@c.d',
          'a@b.',
          'a@-b',
          '.a@b',
          'a@b..c',
          'a@bücher.example',
          `${'a'.repeat(64)}@b`,
        ].map((email) => [email, 'format'] as const),
        ['', 'minLength'],
        ['a@', 'minLength'],
        [`a@${'b.'.repeat(126)}bb`, 'maxLength'],
        [`a@${'b'.repeat(1000)}`, 'maxLength'],
        [null, 'type'],
        [5, 'type'],
        [{}, 'type'],
      ],
    ],
    [
      'ttl',
      [0, 1, 2_147_483_647, '0', '3600', '2147483647'],
      [
        -1,
        2_147_483_648,
        1.5,
        '-1',
        '1.5',
        '2147483648',
        '',
        ' 5',
        '1e3',
        '0x10',
        'abc',
        null,
        true,
        [],
        1e300,
      ].map((ttl) => [ttl, 'type'] as const),
    ],
    [
      'description',
      [null, '', 'x'.repeat(160), '\u{1f600}'.repeat(160), 'two\nlines'],
      [
        ['x'.repeat(161), 'maxLength'],
        ['\u{1f600}'.repeat(161), 'maxLength'],
        [5, 'type'],
        ['a\0', 'format'],
      ],
    ],
    [
      'attributes',
      [
        {},
        { a: '' },
        { ['x'.repeat(50)]: 'y'.repeat(50) },
        JSON.parse('{"__proto__":"a","constructor":"b"}'),
      ],
      [
        [{ ['x'.repeat(51)]: 'y' }, 'maxLength'],
        [{ a: 'x'.repeat(51) }, 'maxLength'],
        [{ a: 5 }, 'type'],
        [{ a: null }, 'type'],
        [null, 'type'],
        [[], 'type'],
        ['a', 'type'],
        [
          Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`a${index}`, ''])),
          'maxProperties',
        ],
      ],
    ],
    [
      'type',
      ['PRIMARY'],
      [null, 'primary', '', 'MASTER', 1, []].map((type) => [type, 'enum'] as const),
    ],
    [
      'pool_id',
      [null, POOL_ID, POOL_ID.toUpperCase(), `{${POOL_ID}}`],
      ['default', '', 5, {}].map((id) => [id, 'format'] as const),
    ],
    [
      'masters',
      [[]],
      [
        [null, 'type'],
        ['192.0.2.1', 'type'],
        [{}, 'type'],
        [[null], 'format'],
        [['192.0.2.1'], 'not_allowed'],
      ],
    ],
  ];

  test.each(cases)(
    '201 for every valid %s, 400 for every other value',
    async (member, good, bad) => {
      for (const value of good) {
        const created = await createZone(service, primary(fresh(), { [member]: value }));
        const shown = member === 'pool_id' ? POOL_ID : value;
        const expected = member === 'ttl' ? Number(value) : shown;
        expect(created[member]).toEqual(expected);
        expect((await service.get(`/v2/zones/${created.id}`)).body[member]).toEqual(expected);
      }
      for (const [value, validator] of bad) {
        expect(
          problemsOf(await post(primary(fresh(), { [member]: value }))),
          JSON.stringify(value),
        ).toEqual([`${member}: ${validator}`]);
      }
    },
  );

  test.each([
    ['192.0.2.1'],
    ['192.0.2.1:53', '192.0.2.1'],
    ['192.0.2.1:5300'],
    ['192.0.2.1:00053', '192.0.2.1'],
    ['192.0.2.1:65535'],
    ['ns1.example.org'],
    ['ns1.example.org.:853'],
    ['ns1:1'],
    ['2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:53', '2001:db8::1'],
    ['[2001:db8::1]:5300'],
  ])('201 for the primary %s', async (given, kept = given) => {
    expect((await createZone(service, secondary(fresh(), { masters: [given] }))).masters).toEqual([
      kept,
    ]);
  });

  test.each([
    '',
    ' ',
    '192.0.2.1:0',
    '192.0.2.1:65536',
    '192.0.2.1:',
    '192.0.2.1:x',
    ':53',
    '192.0.2.256',
    '1.2.3',
    '[192.0.2.1]',
    '[2001:db8::1',
    'fe80::1%eth0',
    '2001:db8::1]:53',
    '[2001:db8::1]53',
    '[fe80::1%eth0]:53',
    'a b',
    '-a.example',
    'http://192.0.2.1',
    '192.0.2.1/24',
    '192.0.2.1:53\n',
    5,
  ])('400 for the primary %j', async (master) => {
    expect(problemsOf(await post(secondary(fresh(), { masters: [master] })))).toEqual([
      'masters: format',
    ]);
  });

  test('400 for more than 50 primaries, or a primary that is repeated in another spelling', async () => {
    const many = Array.from({ length: 51 }, (_, index) => `192.0.2.${index}`);
    expect(problemsOf(await post(secondary(fresh(), { masters: many })))).toEqual([
      'masters: items',
    ]);
    expect(
      problemsOf(await post(secondary(fresh(), { masters: ['192.0.2.1', '192.0.2.1:53'] }))),
    ).toEqual(['masters: uniqueItems']);
    expect((await post(secondary(fresh(), { masters: many.slice(1) }))).status).toBe(201);
  });

  test('400 for missing or excluded members of the zone type, with path and rule', async () => {
    const name = fresh();
    expect(problemsOf(await post({ name }))).toEqual(['email: required']);
    expect(problemsOf(await post({ email: 'a@b' }))).toEqual(['name: required']);
    expect(problemsOf(await post({}))).toEqual(['name: required', 'email: required']);
    expect(problemsOf(await post(primary(name, { masters: ['192.0.2.1'] })))).toEqual([
      'masters: not_allowed',
    ]);
    expect(problemsOf(await post({ name, type: 'SECONDARY' }))).toEqual(['masters: required']);
    expect(problemsOf(await post(secondary(name, { masters: [] })))).toEqual(['masters: required']);
    expect(problemsOf(await post(secondary(name, { email: 'a@b', ttl: 60 })))).toEqual([
      'email: not_allowed',
      'ttl: not_allowed',
    ]);
    const { errors } = (await post({ name })).body.errors;
    expect(errors).toEqual([
      { path: ['email'], message: "'email' is a required property", validator: 'required' },
    ]);
  });

  test('400 with each problem listed once', async () => {
    expect(problemsOf(await post(primary(fresh(), { email: 'nobody', ttl: -1 })))).toEqual([
      'email: format',
      'ttl: type',
    ]);
    expect(problemsOf(await post(secondary(fresh(), { masters: 'x' })))).toEqual(['masters: type']);
    expect(
      problemsOf(await post({ name: fresh(), type: 'secondary', masters: ['192.0.2.1'] })),
    ).toEqual(['type: enum']);
  });

  test.each([
    ...[
      'id',
      'project_id',
      'serial',
      'shared',
      'status',
      'action',
      'version',
      'transferred_at',
      'created_at',
      'updated_at',
      'links',
    ].map((name) => [name, 'readOnly']),
    ...['zone', 'tenant_id', 'name_key', 'tree_key', 'toString', '__proto__'].map((name) => [
      name,
      'additionalProperties',
    ]),
  ] as [string, string][])(
    '400 for the member %s, because callers cannot set it',
    async (member, validator) => {
      const zone = await createZone(service, primary(fresh()));
      for (const value of [Object.hasOwn(zone, member) ? zone[member] : null, 'x']) {
        const body = (members: object) =>
          `${JSON.stringify(members).slice(0, -1)},${JSON.stringify(member)}:${JSON.stringify(value)}}`;
        expect(problemsOf(await service.call('POST', '/v2/zones', body(primary(fresh()))))).toEqual(
          [`${member}: ${validator}`],
        );
        expect(
          problemsOf(await service.call('PATCH', `/v2/zones/${zone.id}`, body({ ttl: 5 }))),
        ).toEqual([`${member}: ${validator}`]);
      }
      expect((await service.get(`/v2/zones/${zone.id}`)).body).toEqual(zone);
    },
  );
});
