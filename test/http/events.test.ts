import { beforeAll, describe, expect, test } from 'vitest';
import type { ChangeEvent } from '../../src/domain/operations/events.ts';
import type { AuditRecord } from '../../src/domain/audit/record.ts';
import type { Client } from '../harness/client.ts';
import { SAME_ORIGIN, signIn } from '../harness/console.ts';
import { createEstate, limitedTokens, PROJECT, tokenWith } from '../harness/limited-tokens.ts';
import { create, expectError, SECRET, TLDS, TSIGKEYS } from '../harness/samples.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { seed, withDatabase } from '../harness/trail.ts';

const FAST = { auditIntervalMs: 50 };

let service: TestService;
beforeAll(async () => {
  service = await startTestService({}, FAST);
});

/** Returns the cursor after all changes so far. */
async function cursorOf(admin: Client, client = admin): Promise<string> {
  await expect
    .poll(async () => {
      const { records } = (await admin.get('/v2/audit?limit=1')).body as {
        records: AuditRecord[];
      };
      return records.every(({ batch }) => batch !== null);
    })
    .toBe(true);
  const { status, body } = await client.get('/v2/events');
  expect([status, body.events]).toEqual([200, []]);
  return String(body.cursor);
}

/** Follows the events after a cursor until one has this name. */
async function follow(
  client: Client,
  after: string,
  last: string,
  query = '',
): Promise<ChangeEvent[]> {
  const events: ChangeEvent[] = [];
  for (let cursor = after; ;) {
    const { status, body, text } = await client.get(`/v2/events?after=${cursor}&wait=30${query}`);
    expect(status, text).toBe(200);
    events.push(...(body.events as ChangeEvent[]));
    ({ cursor } = body as { cursor: string });
    if (events.some(({ resource_name: name }) => name === last)) return events;
  }
}

const shown = (events: readonly ChangeEvent[]) =>
  events.map(({ type, resource_name: name }) => `${type} ${name}`);

test('200 with each change once, in order, without values, and without what only reads', async () => {
  const cursor = await cursorOf(service);
  const { id } = await create(service, TSIGKEYS, 'seen');
  const secret = 'bm90LXNob3duLW5vdC1zaG93bi1ub3Qtc2hvd24tMDA=';
  const path = `/v2/tsigkeys/${id}`;
  expect((await service.patch(path, { secret })).status).toBe(200);
  expect((await service.get(`${path}/export?format=bind`)).status).toBe(200);
  expect((await service.post('/v2/tlds', { name: 'not a name' })).status).toBe(400);
  expect((await service.delete(path)).status).toBe(204);
  await service.post('/v2/tlds/bulk', { tlds: [{ name: 'a' }, { name: 'b' }] });
  await create(service, TLDS, 'last');

  const events = await follow(service, cursor, 'last');
  expect(shown(events)).toEqual([
    'tsigkey.create seen',
    'tsigkey.update seen',
    'tsigkey.delete seen',
    'tld.bulk null',
    'tld.create last',
  ]);
  expect(events[1]).toEqual({
    id: expect.stringMatching(/^\d+-\d+$/) as string,
    type: 'tsigkey.update',
    time: expect.stringMatching(/^\d{4}-/) as string,
    resource_type: 'tsigkeys',
    resource_id: id,
    resource_name: 'seen',
    project_id: null,
    changed: ['secret'],
    name_server: null,
    request_id: expect.stringMatching(/^req-/) as string,
  });
  const { text } = await service.get(`/v2/events?after=${cursor}`);
  for (const hidden of [SECRET, secret, 'hmac:', 'hmac-sha256', 'A domain'])
    expect(text).not.toContain(hidden);
  const again = await service.get(`/v2/events?after=${events[1]?.id}`);
  expect(shown(again.body.events as ChangeEvent[])).toEqual(shown(events.slice(2)));
});

test('200 with the events of the given types, in pages of the given size', async () => {
  const cursor = await cursorOf(service);
  for (const name of ['p1', 'p2', 'p3']) await create(service, TLDS, name);
  await create(service, TSIGKEYS, 'of-types');
  await service.post('/v2/pools', { name: 'of-types-end' });
  const all = await follow(service, cursor, 'of-types-end');
  expect(all).toHaveLength(5);

  const pages: string[][] = [];
  for (let after = cursor; pages.length < 4;) {
    const { body } = await service.get(`/v2/events?after=${after}&limit=2`);
    pages.push(shown(body.events as ChangeEvent[]));
    after = String(body.cursor);
  }
  expect(pages.map(({ length }) => length)).toEqual([2, 2, 1, 0]);
  expect(pages.flat()).toEqual(shown(all));

  const found = async (types: string) => {
    const { body } = await service.get(`/v2/events?after=${cursor}&types=${types}`);
    return shown(body.events as ChangeEvent[]);
  };
  expect(await found('tsigkey.*')).toEqual(['tsigkey.create of-types']);
  expect(await found('*')).toHaveLength(5);
  expect(await found('*.create')).toHaveLength(5);
  expect(await found('t*.create,pool.create')).toHaveLength(5);
  expect(await found('tld.*')).toHaveLength(3);
  expect(await found('tsigkey.delete,tsigkey.rotation.*,create')).toEqual([]);
});

test('200 as soon as something changes, and after `wait` if nothing does', async () => {
  const cursor = await cursorOf(service);
  const idle = await service.get(`/v2/events?after=${cursor}&wait=1`);
  expect(idle.body).toEqual({ events: [], cursor });
  const waiting = service.get(`/v2/events?after=${cursor}&types=tld.*&wait=30`);
  await create(service, TSIGKEYS, 'not-of-this-type');
  await create(service, TLDS, 'awaited');
  const { body } = await waiting;
  expect(shown(body.events as ChangeEvent[])).toEqual(['tld.create awaited']);
});

test.each([
  ['after=x', 'after'],
  ['after=1-2-unsealed', 'after'],
  ['after=1', 'after'],
  ['wait=31', 'wait'],
  ['wait=x', 'wait'],
  ['limit=0', 'limit'],
  ['types=', 'types'],
  ['types=TSIGKEY', 'types'],
  [`types=${'a'.repeat(501)}`, 'types'],
  ['marker=1-1', 'marker'],
])('400 for %s', async (query, name) => {
  const answer = await service.get(`/v2/events?${query}`);
  expectError(answer, 400, 'bad_request');
  expect(answer.body.message).toContain(name);
});

test('410 for a cursor that the trail no longer has, with the oldest one that works', async () => {
  const folder = temporaryFolder();
  const url = await testDatabase(folder);
  await withDatabase(url, (database) => seed(database, 20, 6)); // sealed on 2026-11-21
  const purging = await startTestService(
    { TSIGIL_DATABASE_URL: url, TSIGIL_AUDIT_RETENTION_DAYS: '1' },
    { folder, auditIntervalMs: 5, clock: () => '2027-01-31T00:00:00.000000' },
  );
  const gone = async (after: string) => {
    const answer = await purging.get(`/v2/events?after=${after}&wait=30`);
    expectError(answer, 410, 'cursor_gone');
    return String(answer.body.cursor);
  };
  await expect
    .poll(async () => (await purging.get('/v2/events?after=0-0')).status, { interval: 20 })
    .toBe(410);
  await expect.poll(async () => /^[4-9]-/.test(await gone('0-0')), { interval: 20 }).toBe(true);
  const oldest = await gone('0-0');
  expect(await gone('2-7')).toBe(oldest);
  expect(await gone('999999999-1')).toBe(oldest); // the cursor is from a trail that was restored
  await create(purging, TLDS, 'after-the-purge');
  expect(shown(await follow(purging, oldest, 'after-the-purge'))).toEqual([
    'tld.create after-the-purge',
  ]);
});

describe('what callers see', () => {
  let own: TestService;
  beforeAll(async () => {
    own = await startTestService({}, FAST); // without entries that restrict zones
  });

  test('200 with the events of the resources that a limited token can list', async () => {
    const before = await cursorOf(own);
    const estate = await createEstate(own);
    const limited = await limitedTokens(own, estate);
    const { pools, poolKeys, zoneKeys, zones, nameServers } = estate;
    const first = await cursorOf(own);
    for (const id of [...poolKeys, ...zoneKeys])
      await own.patch(`/v2/tsigkeys/${id}`, { algorithm: 'hmac-sha512' });
    for (const id of [...poolKeys, ...zoneKeys]) await own.delete(`/v2/tsigkeys/${id}`);
    for (const id of nameServers) await own.patch(`/v2/nameservers/${id}`, { paused: true });
    await own.post('/v2/pools', { name: 'end-of-limits' });
    expect(await follow(own, first, 'end-of-limits')).toHaveLength(11);

    const idsFor = async (client: Client, after: string) => {
      const { body } = await client.get(`/v2/events?after=${after}`);
      const events = body.events as ChangeEvent[];
      return events.map(({ type, resource_id: id }) => `${type} ${id}`);
    };
    const changesOf = (id: string) => [`tsigkey.update ${id}`, `tsigkey.delete ${id}`];
    const [paused] = nameServers.map((id) => `nameserver.update ${id}`);
    const sorted = async (client: Client) => (await idsFor(client, first)).toSorted();
    const bothKeys = [...changesOf(poolKeys[0]), ...changesOf(zoneKeys[0])];
    expect(await sorted(limited.pools)).toEqual([...bothKeys, paused].toSorted());
    expect(await sorted(limited.zones)).toEqual([...changesOf(zoneKeys[0]), paused].toSorted());
    expect(await sorted(limited.keys)).toEqual(changesOf(poolKeys[0]).toSorted());
    expectError(await limited.nameservers.get('/v2/events'), 403, 'outside_limits');

    const created = await idsFor(limited.pools, before);
    expect(created).toContain(`pool.create ${pools[0]}`);
    expect(created).toContain(`zone.create ${zones[0]}`);
    expect(created).toContain(`tsigkey.create ${poolKeys[0]}`); // deleted meanwhile
    for (const id of [pools[1], zones[1], poolKeys[1], zoneKeys[1], nameServers[1]])
      expect(created.join()).not.toContain(id);
  });

  test('200 with the zones of its project alone for a member, and with no tokens for a keymanager', async () => {
    const cursor = await cursorOf(own);
    const make = async (project: string, name: string) => {
      const body = { name, email: 'hostmaster@example.org' };
      const headers = { 'x-auth-sudo-project-id': project };
      const zone = await own.post('/v2/zones', body, headers);
      expect(zone.status).toBe(201);
      return String(zone.body.id);
    };
    await make(PROJECT, 'own.events.example.');
    const other = await make('elsewhere', 'other.example.events.');
    const headers = { 'x-auth-all-projects': 'true' };
    expect((await own.delete(`/v2/zones/${other}`, headers)).status).toBe(202);
    const member = await tokenWith(own, { roles: ['member'] });
    const manager = await tokenWith(own, { roles: ['keymanager'], project_id: null });
    await make(PROJECT, 'end.events.example.');

    const seen = await follow(member, cursor, 'end.events.example.');
    expect(shown(seen)).toEqual([
      'zone.create own.events.example.',
      'zone.create end.events.example.',
    ]);
    expect(seen.map(({ project_id: project }) => project)).toEqual([PROJECT, PROJECT]);
    const all = await follow(manager, cursor, 'end.events.example.');
    expect(shown(all)).toEqual([
      'zone.create own.events.example.',
      'zone.create other.example.events.',
      'zone.delete other.example.events.',
      'zone.create end.events.example.',
    ]);
  });

  test('200 without events once the token is deleted that waits for them', async () => {
    const { body } = await own.post('/v2/tokens', { name: 'waits', roles: ['admin'] });
    const client = own.with(String(body.token));
    const cursor = await cursorOf(own, client);
    const waiting = client.get(`/v2/events?after=${cursor}&types=token.*&wait=30`);
    expect((await own.delete(`/v2/tokens/${body.id}`)).status).toBe(204);
    expect((await waiting).body).toEqual({ events: [], cursor });
    expect((await client.get(`/v2/events?after=${cursor}`)).status).toBe(401);
  });
});

describe('requests that wait', () => {
  test('429 for more than eight of a caller, until one of them has ended', async () => {
    const abort = new AbortController();
    const client = await tokenWith(service, {});
    const after = await cursorOf(service);
    let refused = 0;
    const waiting = Array.from({ length: 12 }, async () => {
      const init = { headers: { 'x-auth-token': client.token }, signal: abort.signal };
      const path = `/v2/events?after=${after}&wait=30`;
      const response = await fetch(`${client.url}${path}`, init).catch(() => undefined);
      if (response?.status === 429) refused += 1;
    });
    await expect.poll(() => refused).toBe(4);
    expect((await service.get(`/v2/events?after=${after}&wait=1`)).status).toBe(200);
    expect((await client.get('/v2/tlds')).status).toBe(200);
    abort.abort();
    await Promise.all(waiting);
    expect(refused).toBe(4);
    await expect
      .poll(async () => (await client.get(`/v2/events?after=${after}&wait=1`)).status)
      .toBe(200);
  });

  test('200 at once when the service stops', async () => {
    const stopping = await startTestService({}, FAST);
    const { body } = await stopping.get('/v2/events');
    const waiting = stopping.get(`/v2/events?after=${body.cursor}&wait=30`);
    await expect
      .poll(async () => (await stopping.get('/metrics')).text)
      .toMatch(/tsigil_connections_open [2-9]/);
    await stopping.close();
    expect((await waiting).status).toBe(200);
  });

  test('200 for a session of the console, which the request neither prolongs nor records', async () => {
    const browser = await signIn(service);
    const background = { ...SAME_ORIGIN, 'x-tsigil-background': '1' };
    const sessionOf = async () => {
      const { sessions } = (await service.get('/v2/sessions')).body as {
        sessions: { id: string; seen_at: string }[];
      };
      return sessions.map(({ id, seen_at: at }) => `${id} ${at}`);
    };
    const before = await sessionOf();
    const { status, body } = await browser.call('GET', '/v2/events', undefined, background);
    expect([status, body.events]).toEqual([200, []]);
    expect(await sessionOf()).toEqual(before);
    expect((await service.get('/v2/audit?action=events:*')).body.records).toEqual([]);
  });
});
