import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase } from '../harness/postgres.ts';
import { TLDS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import {
  allEntries,
  expectStatus,
  named,
  namesOf,
  numbered,
  outcomesOf,
  type Entry,
} from '../harness/tlds.ts';

const PATH = '/v2/tlds/bulk';

/** Starts a service on SQLite, or two services that share a PostgreSQL database. */
async function start(): Promise<TestService[]> {
  if (process.env.TEST_DATABASE !== 'postgres') return [await startTestService()];
  const url = await createDatabase(process.env.TEST_POSTGRES_URL ?? '', `bulk-${randomUUID()}`);
  return [
    await startTestService({ TSIGIL_DATABASE_URL: url }),
    await startTestService({ TSIGIL_DATABASE_URL: url }),
  ];
}

describe('a bulk import', () => {
  let services: TestService[];
  let service: TestService;
  beforeAll(async () => {
    services = await start();
    [service] = services as [TestService];
  });
  afterAll(async () => {
    for (const each of services) await each.close();
  });
  beforeEach(async () => {
    await service.post(PATH, { replace: true, tlds: named('first') });
  });

  test('200 creates every missing entry in the order of the list', async () => {
    const response = expectStatus(
      await service.post(PATH, {
        tlds: [{ name: 'net' }, { name: 'com', description: 'Commercial' }],
      }),
      200,
    );
    const counts = { added: 2, unchanged: 0, updated: 0, removed: 0 };
    expect(response.body).toMatchObject({ removed: [], counts });
    const [, net, com] = await allEntries(service);
    expect(response.body.results).toEqual([
      { index: 0, outcome: 'added', id: net?.id, name: 'net' },
      { index: 1, outcome: 'added', id: com?.id, name: 'com' },
    ]);
    expect(com).toMatchObject({ name: 'com', description: 'Commercial', updated_at: null });
    expect(net).toMatchObject({ name: 'net', description: null, updated_at: null });
    expect((await service.get(`/v2/tlds/${com?.id}`)).body.links.self).toBe(
      `${service.url}/v2/tlds/${com?.id}`,
    );
  });

  test('200 updates the given members of existing entries, but no names or ids', async () => {
    await service.post(PATH, {
      tlds: [
        { name: 'Com', description: 'kept' },
        { name: 'net' },
        { name: 'org', description: 'old' },
      ],
    });
    const before = new Map((await allEntries(service)).map((each) => [each.name, each]));
    const list = [
      { name: 'COM' },
      { name: 'net', description: null },
      { name: 'ORG', description: 'new' },
    ];
    const response = expectStatus(await service.post(PATH, { tlds: list }), 200);
    expect(outcomesOf(response)).toEqual(['unchanged', 'unchanged', 'updated']);
    expect(response.body.results[2]).toEqual({
      index: 2,
      outcome: 'updated',
      id: before.get('org')?.id,
      name: 'org',
      previous: { description: 'old' },
    });
    const after = new Map((await allEntries(service)).map((each) => [each.name, each]));
    expect(after.get('Com')).toEqual(before.get('Com'));
    expect(after.get('net')).toEqual(before.get('net'));
    expect(after.get('org')).toEqual({
      ...before.get('org'),
      description: 'new',
      updated_at: expect.any(String) as string,
    });
  });

  test('400 lists the problems of each entry, and nothing changes', async () => {
    const before = await allEntries(service);
    const list = [
      { name: 'good' },
      { name: 'a b' },
      {},
      7,
      { name: 'x', size: 1, description: 5 },
      { name: 'GOOD' },
      { name: 'рф' },
    ];
    const response = expectStatus(await service.post(PATH, { tlds: list }), 400);
    expect(response.body.type).toBe('invalid_object');
    expect(response.body.message).toMatch(
      /^Invalid list: 6 of 7 entries are refused, and nothing was changed: entry 1: 'name' must consist /,
    );
    const listed = response.body.errors.errors as {
      path: unknown[];
      message: string;
      validator: string;
    }[];
    const problems = listed.map(({ path, validator }) => [...path, validator]);
    expect(problems).toEqual([
      ['tlds', 1, 'name', 'format'],
      ['tlds', 2, 'name', 'required'],
      ['tlds', 3, 'type'],
      ['tlds', 4, 'description', 'type'],
      ['tlds', 4, 'size', 'additionalProperties'],
      ['tlds', 5, 'name', 'uniqueItems'],
      ['tlds', 6, 'name', 'format'],
    ]);
    expect(listed.slice(-2).map(({ message }) => message)).toEqual([
      'Duplicate Tld: entry 0 of the list has the same name',
      "'name' must be in its ASCII form: send 'xn--p1ai'",
    ]);
    expect(await allEntries(service)).toEqual(before);
  });

  test('200 with replace, and only the entries in the list remain', async () => {
    await service.post(PATH, {
      tlds: [
        { name: 'gone', description: 'Not for long' },
        { name: 'stays', description: 'For long' },
      ],
    });
    const before = new Map((await allEntries(service)).map((each) => [each.name, each]));
    const response = expectStatus(
      await service.post(PATH, { replace: true, tlds: named('stays', 'new') }),
      200,
    );
    expect(response.body.counts).toEqual({ added: 1, unchanged: 1, updated: 0, removed: 2 });
    const removed = response.body.removed as Entry[];
    expect(removed.map(({ name }) => name)).toEqual(['first', 'gone']);
    const unshown = ['created_at', 'updated_at', 'links'];
    expect(Object.keys(removed[1] ?? {})).toEqual(
      TLDS.members.filter((member) => !unshown.includes(member)),
    );
    expect(before.get('gone')).toMatchObject(removed[1] ?? {});
    const after = await allEntries(service);
    expect(namesOf(after)).toEqual(['new', 'stays']);
    expect(after.find(({ name }) => name === 'stays')).toEqual(before.get('stays'));
  });

  test('200 with dry_run and the same outcome as without dry_run, and nothing changes', async () => {
    await service.post(PATH, { tlds: [{ name: 'gone' }, { name: 'stays' }] });
    const before = await allEntries(service);
    const list = { replace: true, tlds: [{ name: 'stays', description: 'x' }, { name: 'new' }] };
    const dry = expectStatus(await service.post(PATH, { ...list, dry_run: true }), 200);
    expect(await allEntries(service)).toEqual(before);
    expect(dry.body.results[1]).toEqual({ index: 1, outcome: 'added', id: null, name: 'new' });
    const real = expectStatus(await service.post(PATH, list), 200);
    expect(dry.body.counts).toEqual(real.body.counts);
    expect(dry.body.removed).toEqual(real.body.removed);
    expect(outcomesOf(dry)).toEqual(outcomesOf(real));
  });

  test('200 for 10,000 new entries, and for their update with replace', async () => {
    const list = numbered(10_000);
    const added = expectStatus(await service.post(PATH, { tlds: list }), 200);
    const none = { added: 0, unchanged: 0, updated: 0, removed: 0 };
    expect(added.body.counts).toEqual({ ...none, added: 10_000 });
    const kept = await allEntries(service);
    expect(kept.map(({ name }) => name)).toEqual(['first', ...list.map(({ name }) => name)]);
    expect(kept.map(({ created_at: timestamp }) => timestamp)).toEqual(
      kept.map(({ created_at: timestamp }) => timestamp).toSorted(),
    );
    const described = list.map(({ name }, index) => ({ name, description: `entry ${index}` }));
    const updated = expectStatus(await service.post(PATH, { replace: true, tlds: described }), 200);
    expect(updated.body.counts).toEqual({ ...none, updated: 10_000, removed: 1 });
    expect((await allEntries(service)).map(({ id, description }) => [id, description])).toEqual(
      kept.slice(1).map(({ id }, index) => [id, `entry ${index}`]),
    );
  });

  test('200 for eight concurrent overlapping lists, and each name is created once', async () => {
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, number) => {
        const client = services[number % services.length] ?? service;
        const list = numbered(300).slice(number * 20, number * 20 + 150);
        return client.post(PATH, { tlds: number % 2 === 0 ? list : list.toReversed() });
      }),
    );
    for (const response of responses) expectStatus(response, 200);
    const wanted = numbered(290).map(({ name }) => name);
    expect(namesOf(await allEntries(service))).toEqual(['first', ...wanted].sort());
    const added = responses.reduce((sum, { body }) => sum + (body.counts.added as number), 0);
    expect(added).toBe(wanted.length);
  });

  test('201 or 409 for creations during imports of the same names, and each name is created once', async () => {
    const list = numbered(200, 'beside');
    const singles = list.map(({ name }, index) =>
      (services[index % services.length] ?? service).post('/v2/tlds', { name }),
    );
    const lists = [service.post(PATH, { tlds: list }), service.post(PATH, { tlds: list })];
    const statuses = (await Promise.all(singles)).map(({ status }) => status);
    for (const response of await Promise.all(lists)) expectStatus(response, 200);
    expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
    expect(namesOf(await allEntries(service))).toEqual(
      ['first', ...list.map(({ name }) => name)].sort(),
    );
  });

  test('200 for concurrent lists with replace, and the entries of exactly one list remain', async () => {
    const lists = Array.from({ length: 5 }, (_, number) =>
      numbered(100, `list-${number % 3}`).slice(number),
    );
    const responses = await Promise.all(
      lists.map((tlds, number) =>
        (services[number % services.length] ?? service).post(PATH, { replace: true, tlds }),
      ),
    );
    for (const response of responses) expectStatus(response, 200);
    const wanted = lists.map((list) => list.map(({ name }) => name).sort());
    expect(wanted).toContainEqual(namesOf(await allEntries(service)));
  });
});
