import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { expectError, POOL_ID, problemsOf, SECRET, TSIGKEYS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { primary, secondary } from '../harness/zones.ts';

// What each member accepts and refuses. test/http/collections.test.ts tests what all resources have
// in common, and test/core/field.test.ts the kinds of members with any values.

let count = 0;
/** Returns a name that no other resource has. */
const fresh = () => `member-${(count += 1)}`;

type Collection =
  'tlds' | 'tsigkeys' | 'strict tsigkeys' | 'pools' | 'zones' | 'secondaries' | 'tokens';

/** Returns the body of a new resource. */
const BODIES: Readonly<Record<Collection, () => Record<string, unknown>>> = {
  tlds: () => ({ name: fresh() }),
  tsigkeys: () => TSIGKEYS.body(fresh()),
  'strict tsigkeys': () => TSIGKEYS.body(fresh()),
  pools: () => ({ name: fresh() }),
  zones: () => primary(`${fresh()}.example.`),
  secondaries: () => secondary(`${fresh()}.example.`),
  tokens: () => ({ name: fresh(), roles: ['admin'] }),
};

interface Member {
  readonly good?: readonly unknown[];
  /** What a response shows for a good value, if not the value itself. */
  readonly shown?: (value: unknown) => unknown;
  /** Values by the rule that they break. */
  readonly bad: Readonly<Record<string, readonly unknown[]>>;
}

const EMOJI = '\u{1f511}';
const label = (length: number) => 'l'.repeat(length);
/** Returns a name of `length` characters. All labels except the last have 62 characters. */
const longName = (length: number) => `${label(62)}.`.repeat(5).slice(0, length - 1) + 'e';
const SPELLINGS_OF_ID = [
  POOL_ID.toUpperCase(),
  POOL_ID.replaceAll('-', ''),
  `{${POOL_ID}}`,
  `URN:UUID:${POOL_ID.toUpperCase()}`,
];
const IDS: Member = {
  good: SPELLINGS_OF_ID,
  shown: () => POOL_ID,
  bad: { format: ['', 'foo', `${POOL_ID}0`, `{${POOL_ID}`, `${POOL_ID}\n`, 7] },
};
const NOTES: Member = {
  good: [null, '', 'tab\tand\nline', '\u0007\u001f\u007f', '"quoted" \\ <b>', EMOJI.repeat(160)],
  bad: {
    maxLength: ['x'.repeat(161), EMOJI.repeat(161)],
    type: [5, {}],
    format: ['a\0', 'a\ud800'],
  },
};
const KEY_TEXTS: Member = {
  good: ['Example key', 'rand-1.test.', ' ', '.', '*', 'ключ', '"\\', EMOJI.repeat(255)],
  bad: {
    minLength: [''],
    maxLength: ['x'.repeat(256), EMOJI.repeat(256)],
    type: [null, 5, ['x'], {}],
    format: ['a\nb', '\u0085', 'a\0b'],
  },
};
const NOT_LABELS = [
  '.',
  'a..b',
  '-a',
  'a-.b',
  '*.com',
  'a/b',
  'a b',
  'a\u200b',
  'ａ',
  'a\0',
  label(64),
];
const RECORD = { priority: 1, hostname: 'ns1.example.org.' };
const records = (...members: object[]) => members.map((each) => ({ ...RECORD, ...each }));

const MEMBERS: Readonly<Record<Collection, Readonly<Record<string, Member>>>> = {
  tlds: {
    name: {
      good: ['co.uk', '_tcp', 'a--b', '127.0.0.1', 'xn--p1ai', 'MiXeD', label(63), longName(254)],
      bad: {
        minLength: [''],
        maxLength: [longName(255)],
        type: [null, 5, ['com'], {}],
        format: [...NOT_LABELS, 'com.', 'com ', 'com\n', '١٢٣', 'рф', '\ud800'],
      },
    },
    description: NOTES,
  },
  tsigkeys: {
    name: KEY_TEXTS,
    secret: { ...KEY_TEXTS, good: [...(KEY_TEXTS.good ?? []), 'SomeSecretKey', SECRET] },
    algorithm: {
      bad: { enum: ['HMAC-SHA256', 'hmac-sha256.', 'hmac-sha256-128', 'gss-tsig', '', null, 5] },
    },
    scope: { bad: { enum: ['pool', 'Zone', 'POOL ', 'SERVER', '', null, 1, []] } },
    resource_id: { ...IDS, bad: { format: [...(IDS.bad.format ?? []), null] } },
  },
  'strict tsigkeys': {
    name: {
      good: ['Transfer.Key.Example.', `${longName(253)}.`],
      bad: { format: ['Example key', 'a..b', '-a', 'ключ', label(64), longName(254)] },
    },
    secret: {
      good: ['c2VjcmV0', 'c2VjcmV0cw==', 'c2VjcmV0LWs=', SECRET],
      bad: { format: ['SomeSecretKey', 'c2Vj cmV0', 'c2VjcmV0cx==', 'c2-_'] },
    },
  },
  pools: {
    name: { bad: { maxLength: ['x'.repeat(51)], format: ['a\nb'] } },
    ns_records: {
      good: [[], records({}, { priority: 10_000, hostname: 'Ns2.example.org.' })],
      bad: {
        type: [null, ['ns1.example.org.'], [{ priority: 1 }]].concat(
          [0, 10_001].map((priority) => records({ priority })),
        ),
        format: ['ns1.example.org', 'ns1_.example-.org.'].map((hostname) => records({ hostname })),
        minLength: [records({ hostname: '.' })],
        additionalProperties: [records({ more: 1 })],
        uniqueItems: [records({}, {})],
        items: [Array.from({ length: 51 }, (_, index) => ({ ...RECORD, priority: index + 1 }))],
      },
    },
    project_id: { good: ['red'], bad: { minLength: [''], format: ['two words'] } },
    nameservers: { bad: { additionalProperties: [[]] } },
  },
  zones: {
    name: {
      good: [
        'Mixed.Case.',
        '_tcp.a_b.',
        'a--b.1.',
        'xn--e1afmkfd.xn--p1ai.',
        `${longName(253)}.`,
        'a.'.repeat(127),
      ],
      bad: {
        minLength: [''],
        maxLength: [`${longName(255)}.`],
        type: [null, ['example.com.']],
        format: [...NOT_LABELS.map((name) => `${name}.`), '___', '.a.', '.', 'a.com.\n', 'a\\.b.'],
      },
    },
    email: {
      good: ['a@b', `${label(63)}@${label(63)}.${label(63)}.${label(62)}`, 'A_b-c@x.y'],
      bad: {
        format: ['abc', '@bc', 'a@b@c', 'a b@c.d', 'a@b.', '.a@b', 'a@bücher.example'],
        minLength: ['a@'],
        maxLength: [`a@${'b.'.repeat(126)}bb`],
        type: [null],
      },
    },
    ttl: {
      good: [0, 2_147_483_647, '0', '2147483647'],
      shown: Number,
      bad: { type: [-1, 2_147_483_648, 1.5, '-1', '', ' 5', '1e3', null, true, 1e300] },
    },
    attributes: {
      good: [
        {},
        { ['x'.repeat(50)]: 'y'.repeat(50) },
        JSON.parse('{"__proto__":"a","constructor":"b"}'),
      ],
      bad: {
        maxLength: [{ ['x'.repeat(51)]: 'y' }, { a: 'x'.repeat(51) }],
        type: [{ a: null }, []],
        maxProperties: [
          Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`a${index}`, ''])),
        ],
      },
    },
    type: { good: ['PRIMARY'], bad: { enum: [null, 'primary', 1] } },
    pool_id: { ...IDS, good: [POOL_ID, ...SPELLINGS_OF_ID] },
    masters: {
      good: [[]],
      bad: { type: ['192.0.2.1'], format: [[null]], not_allowed: [['192.0.2.1']] },
    },
  },
  secondaries: {
    masters: {
      good: [
        ['192.0.2.1:00053'],
        ['192.0.2.1:65535'],
        ['ns1.example.org.:853'],
        ['[2001:db8::1]'],
        ['[2001:db8::1]:53'],
        ['[2001:db8::1]:5300'],
        Array.from({ length: 50 }, (_, index) => `192.0.2.${index}`),
      ],
      shown: (value) =>
        (value as string[]).map((each) => each.replace(/:0*53$/, '').replace(/^\[(.*)\]$/, '$1')),
      bad: {
        format: [
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
        ].map((each) => [each]),
        type: ['x'],
        required: [[]],
        items: [Array.from({ length: 51 }, (_, index) => `192.0.2.${index}`)],
        uniqueItems: [['192.0.2.1', '192.0.2.1:53']],
      },
    },
    email: { bad: { not_allowed: ['a@b'] } },
    ttl: { bad: { not_allowed: [60] } },
  },
  tokens: {
    name: { bad: { format: ['a\nb'] } },
    roles: {
      bad: {
        items: [[], Array.from({ length: 33 }, (_, index) => `role-${index}`)],
        type: ['admin', [5]],
        uniqueItems: [['admin', 'admin']],
        format: [['a,b']],
        enum: [['operator', 'admin']],
      },
    },
    pools: { bad: { items: [[]], format: [['anycast']] } },
    zones: { bad: { reference: [[randomUUID()]] } },
    keys: { bad: { reference: [[randomUUID()]], type: ['x'] } },
    nameservers: { bad: { reference: [[randomUUID()]] } },
    addresses: { bad: { items: [[]], format: [['192.0.2.1/24'], ['example.org']] } },
    project_id: { bad: { minLength: [''] } },
    expires_at: { bad: { format: ['tomorrow', '2030-02-30T00:00:00'] } },
    token: { bad: { additionalProperties: ['tsigil_mine'] } },
    hash: { bad: { additionalProperties: ['x'.repeat(64)] } },
  },
};

describe.each(Object.entries(MEMBERS))('%s', (collection, members) => {
  const path = `/v2/${collection.replace('strict ', '').replace('secondaries', 'zones')}`;
  const body = BODIES[collection as Collection];
  let service: TestService;
  beforeAll(async () => {
    const isStrict = collection.startsWith('strict');
    service = await startTestService(isStrict ? { TSIGIL_TSIGKEYS_STRICT: 'true' } : {});
  });

  test.each(Object.entries(members))(
    '2xx for each good and 400 for each bad %s, in a creation and an update',
    async (member, { good = [], shown = (value) => value, bad }) => {
      for (const value of good) {
        const created = await service.post(path, { ...body(), [member]: value });
        expect([created.status, created.body[member]], created.text).toEqual([201, shown(value)]);
        const item = `${path}/${created.body.id}`;
        expect((await service.get(item)).body).toEqual(created.body);
        const changed = await service.patch(item, { [member]: value });
        expect([changed.status, changed.body[member]], changed.text).toEqual([
          path === '/v2/pools' ? 202 : 200,
          shown(value),
        ]);
        await service.delete(item);
      }
      const item = `${path}/${(await service.post(path, body())).body.id}`;
      for (const [validator, values] of Object.entries(bad))
        for (const value of values) {
          const responses = [await service.post(path, { ...body(), [member]: value })];
          if (path !== '/v2/tokens') responses.push(await service.patch(item, { [member]: value }));
          for (const response of responses)
            expect(problemsOf(response).join().replace('.0:', ':'), JSON.stringify(value)).toBe(
              `${member}: ${validator}`,
            );
        }
      expect((await service.get(item)).body.updated_at).toBe(null);
    },
  );
});

describe('names', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  test.each([
    ['tlds', 'рф', "send 'xn--p1ai'"],
    ['tlds', 'co.РФ', "send 'co.xn--p1ai'"],
    ['tlds', 'com.', "'name' must not end in a period"],
    ['zones', 'пример.рф.', "send 'xn--e1afmkfd.xn--p1ai.'"],
    ['zones', 'пример.рф', "send 'xn--e1afmkfd.xn--p1ai.'"],
    ['zones', 'example.com', "send 'example.com.'"],
  ] as const)('400 for %s %s says what would be right', async (collection, name, hint) => {
    const response = await service.post(`/v2/${collection}`, { ...BODIES[collection](), name });
    expect(expectError(response, 400, 'invalid_object')).toContain(hint);
  });

  test.each([
    ['tlds', 'Unique.Example', 'UNIQUE.example'],
    ['tsigkeys', 'transfer-key', 'TRANSFER-key'],
    ['tsigkeys', 'Example.Key.', 'example.key'],
    ['tsigkeys', 'ключик', 'КЛЮЧИК.'],
  ] as const)(
    '409 for %s with the name %s and then %s, a new one or a renamed one',
    async (collection, name, same) => {
      const path = `/v2/${collection}`;
      const create = async (given: string) =>
        (await service.post(path, { ...BODIES[collection](), name: given })).body.id as string;
      const [own, other] = [await create(name), await create(fresh())];
      const type = `duplicate_${collection.slice(0, -1)}`;
      const taken = { ...BODIES[collection](), name: same };
      expectError(await service.post(path, taken), 409, type);
      expectError(await service.patch(`${path}/${other}`, { name: same }), 409, type);
      expect((await service.patch(`${path}/${own}`, { name: same })).body.name).toBe(same);
    },
  );

  test('201 for keys whose names differ only in a second trailing dot', async () => {
    for (const name of ['dots.', 'dots..'])
      expect((await service.post('/v2/tsigkeys', TSIGKEYS.body(name))).status).toBe(201);
  });
});
