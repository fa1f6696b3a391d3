import { beforeAll, describe, expect, test } from 'vitest';
import { MAX_ENTRIES } from '../../src/tlds/bulk-request.ts';
import { MAX_LIST_BYTES } from '../../src/core/settings.ts';
import type { Client } from '../harness/client.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { allEntries, expectStatus, named, namesOf } from '../harness/tlds.ts';
import { clientFor } from '../harness/zones.ts';

const PATH = '/v2/tlds/bulk';

describe('an invalid request', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
    await service.post('/v2/tlds', { name: 'kept' });
  });

  test.each([
    ['no list', {}, ['tlds']],
    ['an empty list', { tlds: [] }, ['tlds']],
    ['an empty list with replace', { replace: true, tlds: [] }, ['tlds']],
    ['an object instead of a list', { tlds: { name: 'com' } }, ['tlds']],
    ['too many entries', { tlds: new Array(MAX_ENTRIES + 1).fill(0) }, ['tlds']],
    ['an unknown member', { force: true, tlds: named('com') }, ['force']],
    [
      'text instead of a boolean',
      { replace: 'yes', dry_run: 1, tlds: named('com') },
      ['replace', 'dry_run'],
    ],
    [
      'every problem at once',
      { replace: 1, dry_run: 1, more: 1 },
      ['replace', 'dry_run', 'more', 'tlds'],
    ],
    ['an array', named('com'), []],
  ])('400: %s', async (_what, body, paths) => {
    const response = expectStatus(await service.post(PATH, body), 400);
    expect(response.body.type).toBe('invalid_object');
    expect(
      (response.body.errors.errors as { path: string[] }[]).flatMap(({ path }) => path),
    ).toEqual(paths);
    expect(namesOf(await allEntries(service))).toEqual(['kept']);
  });

  test('400 with a response below three times the size limit of a list if every entry is invalid', async () => {
    const response = expectStatus(
      await service.post(PATH, {
        tlds: new Array(MAX_ENTRIES).fill({ a: 1, b: 2 }),
      }),
      400,
    );
    expect(response.text.length).toBeLessThan(3 * MAX_LIST_BYTES);
  });

  test.each([
    [
      '2 MB of nested arrays',
      `${'['.repeat(MAX_LIST_BYTES / 2)}${']'.repeat(MAX_LIST_BYTES / 2)}`,
      '50000 arrays and objects',
    ],
    [
      'an object with 150,000 members',
      `{"tlds":[{${Array.from({ length: 150_000 }, (_, index) => `"a${index}":0`).join(',')}}]}`,
      '10000 members',
    ],
  ])(
    '400 for a body with more arrays, objects or members than the limit: %s',
    async (_what, text, problem) => {
      const response = expectStatus(await service.post(PATH, text), 400);
      expect(response.body).toMatchObject({
        type: 'invalid_object',
        message: expect.stringContaining(problem),
      });
      expect(namesOf(await allEntries(service))).toEqual(['kept']);
    },
  );

  test('413 for a body above the limit of this path', async () => {
    const padded = (bytes: number) =>
      JSON.stringify({ dry_run: true, tlds: named('com') }).padEnd(bytes);
    expectStatus(await service.post(PATH, padded(MAX_LIST_BYTES)), 200);
    expectStatus(await service.post(PATH, padded(MAX_LIST_BYTES + 1)), 413);
    expectStatus(await service.call('PUT', PATH, padded(200_000)), 413);
  });
});

describe('rights', () => {
  let service: TestService;
  let creator: Client;
  beforeAll(async () => {
    service = await startTestService({
      TSIGIL_POLICY: JSON.stringify({ 'tlds:create': ['admin', 'creator'] }),
    });
    await service.post('/v2/tlds', { name: 'kept', description: 'as it is' });
    creator = await clientFor(service, ['creator']);
  });

  test('401 without tlds:create, even for an invalid body', async () => {
    const reader = await clientFor(service, ['reader']);
    for (const body of [{ tlds: named('com') }, 'no JSON']) {
      const response = expectStatus(await reader.post(PATH, body), 401);
      expect(response.body.type).toBe('access_denied');
    }
  });

  test('401 without tlds:delete for a list with replace, even if the list would remove nothing', async () => {
    for (const entries of [named('kept'), named('not good')]) {
      const response = expectStatus(
        await creator.post(PATH, { replace: true, dry_run: true, tlds: entries }),
        401,
      );
      expect(response.body.message).toContain('tlds:delete');
    }
  });

  test('401 without tlds:update if an entry would be updated, and nothing changes', async () => {
    const list = [{ name: 'added' }, { name: 'KEPT', description: 'otherwise' }];
    const response = expectStatus(await creator.post(PATH, { tlds: list }), 401);
    expect(response.body.message).toContain('tlds:update');
    expect(namesOf(await allEntries(service))).toEqual(['kept']);
    expectStatus(await creator.post(PATH, { tlds: named('kept', 'added') }), 200);
  });
});
