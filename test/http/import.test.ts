import { beforeEach, describe, expect, test } from 'vitest';
import { IMPORTABLE_TYPES } from '../../src/domain/resources/resources.ts';
import { ACTIONS } from '../../src/domain/actions/actions.ts';
import { actionPaths } from '../../src/http/openapi/actions.ts';
import { create, expectError, itemsOf, problemsOf, SAMPLES } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { describedAt } from '../harness/description.ts';
import { clientFor } from '../harness/zones.ts';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

test('every collection that supports imports has a sample', () => {
  expect(SAMPLES.map(({ collection }) => collection)).toEqual(
    IMPORTABLE_TYPES.map(({ collection }) => collection),
  );
});

describe.each(SAMPLES)('/v2/$collection/import', (sample) => {
  const { collection } = sample;
  const restore = (items: unknown, headers?: Record<string, string>) =>
    service.post(`/v2/${collection}/import`, { [collection]: items }, headers);
  const whole = (name: string, members: Record<string, unknown> = {}) => ({
    id: 'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6',
    ...sample.body(name),
    created_at: '2014-07-07T18:25:31.275934',
    updated_at: null,
    ...members,
  });
  const otherId = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf7';
  const kept = async () => itemsOf(await service.get(`/v2/${collection}?sort_key=name`), sample);

  test('200 imports resources with their ids and timestamps, in order of creation', async () => {
    const now = await create(service, sample, 'made-now');
    const response = await restore([
      whole('old'),
      whole('older', {
        id: otherId,
        created_at: '2013-01-01T00:00:00.000001',
        updated_at: '2014-01-01 00:00:00',
      }),
    ]);
    expect([response.status, response.body]).toEqual([200, { imported: 2, unchanged: 0 }]);
    const items = itemsOf(await service.get(`/v2/${collection}`), sample);
    expect(
      items.map(({ id, name, created_at, updated_at }) => ({ id, name, created_at, updated_at })),
    ).toEqual([
      {
        id: otherId,
        name: 'older',
        created_at: '2013-01-01T00:00:00.000001',
        updated_at: '2014-01-01T00:00:00.000000',
      },
      {
        id: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
        name: 'old',
        created_at: '2014-07-07T18:25:31.275934',
        updated_at: null,
      },
      { id: now.id, name: 'made-now', created_at: now.created_at, updated_at: null },
    ]);
  });

  test('200 for a list from another service, and 200 without changes for the same list again', async () => {
    for (const name of ['one', 'two', 'three']) await create(service, sample, name);
    const source = await kept();
    const target = await startTestService();
    const first = await target.post(`/v2/${collection}/import`, { [collection]: source });
    expect([first.status, first.body]).toEqual([200, { imported: 3, unchanged: 0 }]);
    const again = await target.post(`/v2/${collection}/import`, { [collection]: source });
    expect([again.status, again.body]).toEqual([200, { imported: 0, unchanged: 3 }]);
    const copied = itemsOf(await target.get(`/v2/${collection}?sort_key=name`), sample);
    expect(copied.map((item) => ({ ...item, links: {} }))).toEqual(
      source.map((item) => ({ ...item, links: {} })),
    );
  });

  test.each([
    [
      'an id of another resource',
      [whole('new'), { ...whole('third'), id: otherId }],
      [{ ...whole('first'), id: otherId }],
    ],
    [
      'a name of another resource',
      [whole('new'), whole('FIRST', { id: otherId })],
      [whole('first', { id: '00000000-0000-4000-8000-000000000001' })],
    ],
    [
      'the same resource with another timestamp',
      [whole('new', { id: otherId }), whole('first', { updated_at: '2020-01-01T00:00:00' })],
      [whole('first')],
    ],
    ['two resources with the same name', [whole('new'), whole('NEW', { id: otherId })], []],
    ['two resources with the same id', [whole('new'), whole('other')], []],
  ])('409 for %s, and nothing changes', async (_case, items, before) => {
    for (const item of before) expect((await restore([item])).status).toBe(200);
    const existing = await kept();
    expectError(await restore(items), 409, `duplicate_${sample.noun}`);
    expect(await kept()).toEqual(existing);
  });

  test('400 with every problem and the number of its item, and nothing changes', async () => {
    const withoutId = Object.fromEntries(
      Object.entries(whole('a')).filter(([name]) => name !== 'id'),
    );
    const response = await restore([
      whole('fine'),
      withoutId,
      { ...whole('b'), created_at: 'yesterday' },
      { ...whole('c'), colour: 'red' },
      { ...whole('d'), name: 7 },
      'e',
    ]);
    expect(problemsOf(response)).toEqual([
      `${collection}.1.id: required`,
      `${collection}.2.created_at: format`,
      `${collection}.3.colour: additionalProperties`,
      `${collection}.4.name: type`,
      `${collection}.5: type`,
    ]);
    expect(expectError(response, 400, 'invalid_object')).toContain('item 3:');
    expect(await kept()).toEqual([]);
  });

  test.each(sample.required)('400 for an incomplete resource, without %s', async (name) => {
    const item = Object.fromEntries(
      Object.entries(whole('a')).filter(([member]) => member !== name),
    );
    expect(problemsOf(await restore([item]))).toEqual([`${collection}.0.${name}: required`]);
  });

  test('200 for resources without the fields that have a default, as from an older service', async () => {
    const required = ['id', ...sample.required, 'secret', 'created_at', 'updated_at'];
    const older = Object.fromEntries(
      Object.entries(whole('older')).filter(([name]) => required.includes(name)),
    );
    expect((await restore([older])).body).toEqual({ imported: 1, unchanged: 0 });
    expect((await restore([older])).body).toEqual({ imported: 0, unchanged: 1 });
    expect(await kept()).toMatchObject([{ ...older, id: expect.any(String) as string }]);
  });

  test.each([
    ['no list', 'all', 'type'],
    ['an empty list', [], 'items'],
    ['too long a list', Array.from({ length: 1001 }, () => ({})), 'items'],
  ])('400 for %s', async (_case, items, validator) => {
    expect(problemsOf(await restore(items))).toEqual([`${collection}: ${validator}`]);
  });

  test('400 for members besides the list', async () => {
    expect(
      problemsOf(
        await service.post(`/v2/${collection}/import`, { [collection]: [whole('a')], all: true }),
      ),
    ).toEqual(['all: additionalProperties']);
  });

  test('401 without the right, and 400 invalid_uuid for GET', async () => {
    const member = await clientFor(service, ['member']);
    expectError(await member.post(`/v2/${collection}/import`, {}), 401, 'access_denied');
    expectError(await service.get(`/v2/${collection}/import`), 400, 'invalid_uuid');
  });

  test('the OpenAPI document contains the import', () => {
    const settings = describedAt(service.url);
    const operation = actionPaths(settings, ACTIONS)[`/v2/${collection}/import`]?.post;
    expect(operation?.operationId).toBe(`import_${collection}`);
    expect(Object.keys(operation?.responses ?? {})).toEqual(
      expect.arrayContaining(['200', '400', '409']),
    );
  });

  test('200 for the example of the OpenAPI document', async () => {
    const settings = describedAt(service.url);
    const content = actionPaths(settings, ACTIONS)[`/v2/${collection}/import`]?.post?.requestBody
      ?.content['application/json'];
    const response = await service.post(`/v2/${collection}/import`, content?.examples?.one?.value);
    expect([response.status, response.body]).toEqual([200, { imported: 1, unchanged: 0 }]);
  });
});

test('400 for a key of an unknown pool if tsigkeys.requireResource is true', async () => {
  const strict = await startTestService({ TSIGIL_TSIGKEYS_REQUIRE_RESOURCE: 'true' });
  const body = SAMPLES[1]?.body('a') ?? {};
  const item = {
    id: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
    ...body,
    resource_id: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
    created_at: '2014-07-07T18:25:31',
    updated_at: null,
  };
  expectError(
    await strict.post('/v2/tsigkeys/import', { tsigkeys: [item] }),
    400,
    'invalid_tsigkey',
  );
});
