import { beforeAll, describe, expect, test } from 'vitest';
import {
  create,
  expectError,
  itemsOf,
  problemsOf,
  TLDS,
  type Resource,
} from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

let service: TestService;
let kept: Resource;
beforeAll(async () => {
  service = await startTestService();
  kept = await create(service, TLDS, 'kept.example');
});

const label = (length: number) => 'l'.repeat(length);
/** Returns a name of `length` characters. All labels except the last have 62 characters. */
const long = (length: number) => `${label(62)}.`.repeat(5).slice(0, length - 1) + 'e';

describe('names', () => {
  test.each(['co.uk', '_tcp', 'a--b', '127.0.0.1', 'xn--p1ai', 'MiXeD', label(63), long(254)])(
    '201 for %s, stored in this spelling',
    async (name) => {
      const response = await service.post('/v2/tlds', { name });
      expect(response.status, response.text).toBe(201);
      expect(response.body.name).toBe(name);
      expect((await service.get(`/v2/tlds/${response.body.id}`)).body.name).toBe(name);
    },
  );

  test.each([
    'com.',
    '.',
    'a..b',
    '-a',
    'a-.b',
    '*.com',
    'a/b',
    'a b',
    'com ',
    'com\n',
    '\u200bcom',
    'ｃｏｍ',
    '١٢٣',
    label(64),
    long(255),
  ])('400 for %j', async (name) => {
    expect(problemsOf(await service.post('/v2/tlds', { name }))).toHaveLength(1);
    expect(problemsOf(await service.patch(`/v2/tlds/${kept.id}`, { name }))).toHaveLength(1);
  });

  test('400 for an empty name, and for a name that is not a string', async () => {
    expect(problemsOf(await service.post('/v2/tlds', { name: '' }))).toEqual(['name: minLength']);
    for (const name of [null, 5, ['com'], {}])
      expect(problemsOf(await service.post('/v2/tlds', { name }))).toEqual(['name: type']);
  });

  test.each(['\\u0000', 'a\\u0000b', '\\ud800', '\\udc00\\ud800'])(
    '400 for text that databases cannot store: "%s"',
    async (escaped) => {
      expect(
        problemsOf(await service.post('/v2/tlds', `{"name":"com","description":"${escaped}"}`)),
      ).toEqual(['description: format']);
      expect(problemsOf(await service.post('/v2/tlds', `{"name":"${escaped}"}`))).toEqual([
        'name: format',
      ]);
    },
  );

  test.each([
    ['рф', 'xn--p1ai'],
    ['co.РФ', 'co.xn--p1ai'],
    ['bücher', 'xn--bcher-kva'],
  ])('400 for %s, with the A-labels of the name in the message', async (name, ascii) => {
    const message = expectError(await service.post('/v2/tlds', { name }), 400, 'invalid_object');
    expect(message).toContain(`send '${ascii}'`);
  });

  test('400 for a trailing dot, with this reason in the message', async () => {
    expect((await service.post('/v2/tlds', { name: 'com.' })).body.message).toBe(
      "Invalid Tld: 'name' must not end in a period",
    );
  });
});

describe('uniqueness', () => {
  test('409 for the same name in another case, in creations and updates', async () => {
    const first = await create(service, TLDS, 'Unique.Example');
    const other = await create(service, TLDS, 'other.example');
    expectError(await service.post('/v2/tlds', { name: 'UNIQUE.example' }), 409, 'duplicate_tld');
    expectError(
      await service.patch(`/v2/tlds/${other.id}`, { name: 'unique.EXAMPLE' }),
      409,
      'duplicate_tld',
    );
    expect((await service.get(`/v2/tlds/${first.id}`)).body.name).toBe('Unique.Example');
  });

  test("200 for the entry's own name in another case, stored in the new spelling", async () => {
    const { id } = await create(service, TLDS, 'respelt');
    expect((await service.patch(`/v2/tlds/${id}`, { name: 'ReSpelt' })).body.name).toBe('ReSpelt');
    expect(
      itemsOf(await service.get('/v2/tlds?name=respelt'), TLDS).map(({ name }) => name),
    ).toEqual(['ReSpelt']);
  });
});

describe('descriptions', () => {
  let count = 0;
  const nextName = () => `described-${(count += 1)}`;

  test.each([
    '',
    'tab\tand\nline',
    '\u0007\u001f\u007f',
    'доменная зона',
    '"quoted" \\ <b>',
    '\u{1f600}'.repeat(160),
    null,
  ])('201 for %j, stored unchanged', async (description) => {
    const response = await service.post('/v2/tlds', { name: nextName(), description });
    expect(response.status, response.text).toBe(201);
    expect(response.body.description).toBe(description);
    expect((await service.get(`/v2/tlds/${response.body.id}`)).body.description).toBe(description);
  });

  test('201 with null as the description if the body has none', async () => {
    expect((await service.post('/v2/tlds', { name: nextName() })).body.description).toBeNull();
  });

  test.each([
    ['x'.repeat(161), 'maxLength'],
    ['\u{1f600}'.repeat(161), 'maxLength'],
    [5, 'type'],
    [{}, 'type'],
  ] as const)('400 for %j', async (description, validator) => {
    expect(problemsOf(await service.post('/v2/tlds', { name: nextName(), description }))).toEqual([
      `description: ${validator}`,
    ]);
  });

  test('200 for a change of the description to null or to an empty text', async () => {
    const { id } = await create(service, TLDS, nextName());
    expect(
      (await service.patch(`/v2/tlds/${id}`, { description: null })).body.description,
    ).toBeNull();
    expect((await service.patch(`/v2/tlds/${id}`, { description: '' })).body.description).toBe('');
  });
});
