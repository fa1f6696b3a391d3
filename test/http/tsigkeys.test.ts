import { beforeAll, describe, expect, test } from 'vitest';
import { ALGORITHMS } from '../../src/domain/dns/algorithms.ts';
import {
  create,
  expectError,
  itemsOf,
  POOL_ID,
  problemsOf,
  SECRET,
  TSIGKEYS,
  type Resource,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let count = 0;
/** Returns a body that creates a key with a new name. `members` replaces the default members. */
const key = (members: Record<string, unknown> = {}) => ({
  ...TSIGKEYS.body(`key-${(count += 1)}`),
  ...members,
});

/** Creates a key and returns it. Fails the test if GET does not return the same key. */
async function keep(members: Record<string, unknown>, from = service): Promise<Resource> {
  const response = await from.post('/v2/tsigkeys', key(members));
  expect(response.status, response.text).toBe(201);
  expect((await from.get(`/v2/tsigkeys/${response.body.id}`)).body).toEqual(response.body);
  return response.body;
}

describe('names and secrets', () => {
  const texts = [
    'Example key',
    'rand-1.test.',
    ' ',
    '.',
    '*',
    'ключ',
    '"\\',
    '\u{1f511}'.repeat(255),
  ];

  test.each([...texts, 'x'.repeat(255)])(
    '201 for the name %j, stored in this spelling',
    async (name) => {
      expect((await keep({ name })).name).toBe(name);
    },
  );

  test.each([...texts, 'SomeSecretKey', SECRET, 'x'.repeat(255)])(
    '201 for the secret %j, returned in full',
    async (secret) => {
      const { id } = await keep({ secret });
      const listed = itemsOf(await service.get('/v2/tsigkeys?sort_dir=desc&limit=1'), TSIGKEYS)[0];
      expect(listed).toMatchObject({ id, secret });
    },
  );

  test.each(['name', 'secret'])('400 for an invalid %s', async (member) => {
    const bad: [unknown, string][] = [
      ['', 'minLength'],
      ['x'.repeat(256), 'maxLength'],
      ['\u{1f511}'.repeat(256), 'maxLength'],
      [null, 'type'],
      [5, 'type'],
      [['x'], 'type'],
      [{}, 'type'],
      ['a\nb', 'format'],
      ['\u0085', 'format'],
      ['a\0b', 'format'],
    ];
    const { id } = await create(service, TSIGKEYS, `kept-${member}`);
    for (const [value, validator] of bad) {
      expect(problemsOf(await service.post('/v2/tsigkeys', key({ [member]: value })))).toEqual([
        `${member}: ${validator}`,
      ]);
      expect(problemsOf(await service.patch(`/v2/tsigkeys/${id}`, { [member]: value }))).toEqual([
        `${member}: ${validator}`,
      ]);
    }
  });

  test('400 without quoting the secret', async () => {
    const secret = `Zm9yYmlkZGVuLXNlY3JldA==\n`;
    const response = await service.post('/v2/tsigkeys', key({ secret, junk: 1 }));
    expect(problemsOf(response)).toEqual(['secret: format', 'junk: additionalProperties']);
    expect(response.text).not.toContain('Zm9y');
  });

  test.each([
    ['transfer-key', 'TRANSFER-key'],
    ['Example.Key.', 'example.key'],
    ['ключик', 'КЛЮЧИК.'],
  ])('409 for %s and then %s, because they are the same DNS name', async (name, same) => {
    await keep({ name });
    const other = await keep({});
    expectError(await service.post('/v2/tsigkeys', key({ name: same })), 409, 'duplicate_tsigkey');
    expectError(
      await service.patch(`/v2/tsigkeys/${other.id}`, { name: same }),
      409,
      'duplicate_tsigkey',
    );
  });

  test('201 for a name that differs only in a second trailing dot', async () => {
    await keep({ name: 'dots.' });
    await keep({ name: 'dots..' });
  });

  test("200 for the key's own name with a trailing dot and in another case", async () => {
    const { id } = await keep({ name: 'own-name' });
    expect((await service.patch(`/v2/tsigkeys/${id}`, { name: 'Own-Name.' })).body.name).toBe(
      'Own-Name.',
    );
  });
});

describe('generated secrets', () => {
  test.each(Object.entries(ALGORITHMS))(
    '201 with a random secret as long as the output of %s if the body has no secret',
    async (algorithm, { hashOctets }) => {
      const [first, second] = [
        await keep({ algorithm, secret: undefined }),
        await keep({ algorithm, secret: undefined }),
      ];
      const bytes = Buffer.from(String(first.secret), 'base64');
      expect(bytes).toHaveLength(hashOctets);
      expect(bytes.toString('base64')).toBe(first.secret);
      expect(second.secret).not.toBe(first.secret);
    },
  );

  test('200 with the same secret if an update contains no secret', async () => {
    const { id, secret } = await keep({ secret: undefined });
    expect(
      (await service.patch(`/v2/tsigkeys/${id}`, { algorithm: 'hmac-sha512' })).body.secret,
    ).toBe(secret);
  });
});

describe('algorithms and scopes', () => {
  test.each(['HMAC-SHA256', 'hmac-sha256.', 'hmac-sha256-128', 'gss-tsig', '', null, 5])(
    '400 for the algorithm %j',
    async (algorithm) => {
      expect(problemsOf(await service.post('/v2/tsigkeys', key({ algorithm })))).toEqual([
        'algorithm: enum',
      ]);
    },
  );

  test.each(['pool', 'Zone', 'POOL ', 'SERVER', '', null, 1, []])(
    '400 for the scope %j',
    async (scope) => {
      expect(problemsOf(await service.post('/v2/tsigkeys', key({ scope })))).toEqual([
        'scope: enum',
      ]);
    },
  );
});

describe('resource_id', () => {
  test.each([
    POOL_ID.toUpperCase(),
    POOL_ID.replaceAll('-', ''),
    `{${POOL_ID}}`,
    `URN:UUID:${POOL_ID.toUpperCase()}`,
  ])('201 for %s, returned in the canonical spelling', async (spelling) => {
    expect((await keep({ resource_id: spelling })).resource_id).toBe(POOL_ID);
  });

  test.each(['', 'foo', `${POOL_ID}0`, `{${POOL_ID}`, `${POOL_ID}\n`, 7, null])(
    '400 for %j',
    async (value) => {
      expect(problemsOf(await service.post('/v2/tsigkeys', key({ resource_id: value })))).toEqual([
        'resource_id: format',
      ]);
    },
  );
});

test('400 with every missing and every invalid member', async () => {
  expect(problemsOf(await service.post('/v2/tsigkeys', {}))).toEqual([
    'name: required',
    'algorithm: required',
    'scope: required',
    'resource_id: required',
  ]);
  const wrong = { name: '', algorithm: 'md5', secret: '', scope: 'x', resource_id: 'y' };
  expect(problemsOf(await service.post('/v2/tsigkeys', wrong))).toEqual([
    'name: minLength',
    'algorithm: enum',
    'secret: minLength',
    'scope: enum',
    'resource_id: format',
  ]);
});

describe('with tsigkeys.strict', () => {
  let strict: TestService;
  beforeAll(async () => {
    strict = await startTestService({ TSIGIL_TSIGKEYS_STRICT: 'true' });
  });

  test.each([
    'Transfer.Key.Example.',
    `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}.`,
  ])('201 for the name %s', async (name) => {
    expect((await keep({ name }, strict)).name).toBe(name);
  });

  test.each([
    'Example key',
    'a..b',
    '-a',
    'ключ',
    'x'.repeat(64),
    `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(62)}`,
  ])('400 for the name %s, because it is invalid in a DNS message', async (name) => {
    expect(problemsOf(await strict.post('/v2/tsigkeys', key({ name })))).toEqual(['name: format']);
  });

  test.each(['c2VjcmV0', 'c2VjcmV0cw==', 'c2VjcmV0LWs=', SECRET])(
    '201 for the secret %s',
    async (secret) => {
      expect((await keep({ secret }, strict)).secret).toBe(secret);
    },
  );

  test.each(['SomeSecretKey', 'c2Vj cmV0', 'c2VjcmV0cx==', 'c2-_'])(
    '400 for the secret %s, because it is not base64',
    async (secret) => {
      expect(problemsOf(await strict.post('/v2/tsigkeys', key({ secret })))).toEqual([
        'secret: format',
      ]);
    },
  );

  test('400 for an invalid name and an invalid secret together, in creations and updates', async () => {
    expect(
      problemsOf(await strict.post('/v2/tsigkeys', key({ name: 'a b', secret: '?' }))),
    ).toEqual(['name: format', 'secret: format']);
    const { id } = await keep({}, strict);
    expect(problemsOf(await strict.patch(`/v2/tsigkeys/${id}`, { name: 'a b' }))).toEqual([
      'name: format',
    ]);
    expect((await strict.patch(`/v2/tsigkeys/${id}`, { scope: 'ZONE' })).status).toBe(200);
  });
});
