import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createClock } from '../../src/clock.ts';
import type { ShownLifecycle } from '../../src/rotation/lifecycle-response.ts';
import type { ApiResponse, Client } from '../harness/client.ts';
import { createEstate, limitedTokens, type Estate } from '../harness/limited-tokens.ts';
import { expectError, KEY_MEMBERS, POOL_ID, problemsOf } from '../harness/samples.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';

const DAY_MS = 86_400_000;

let service: TestService;
/** How far the clock of the service is ahead. */
let aheadMs = 0;
let count = 0;

beforeAll(async () => {
  service = await startTestService(
    {},
    { clock: createClock(() => Date.now() + aheadMs), rotations: { intervalMs: 20, pollMs: 20 } },
  );
});

const create = (more: object = {}, client: Client = service) =>
  client.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: `key-${(count += 1)}.example`, ...more });

async function created(more: object = {}, client: Client = service): Promise<string> {
  return String((await done(create(more, client))).body.id);
}

/** Takes a step of a rotation. The member `force` of the body takes it by force. */
function act(id: string, action: string, body?: object, client: Client = service) {
  const force = body !== undefined && 'force' in body;
  const path = `/v2/tsigkeys/${id}/${action}`;
  return client.post(path, force ? {} : body, force ? { 'tsigil-force': 'true' } : {});
}

async function done(response: Promise<ApiResponse>): Promise<ApiResponse> {
  const awaited = await response;
  expect(awaited.status, awaited.text).toBeLessThan(300);
  return awaited;
}

async function rotated(id: string, body: object = {}): Promise<string> {
  return String((await done(act(id, 'rotate', body))).body.id);
}

async function lifecycleOf(id: string, client: Client = service): Promise<ShownLifecycle> {
  const response = await client.get(`/v2/tsigkeys/${id}/lifecycle`);
  expect(response.status, response.text).toBe(200);
  return response.body as ShownLifecycle;
}
const statesOf = async (id: string) => (await lifecycleOf(id)).keys.map(({ state }) => state);
const keyOf = async (id: string) => (await service.get(`/v2/tsigkeys/${id}`)).body;
const listed = async (query: string) => {
  const { body } = await service.get(`/v2/tsigkeys?${query}`);
  return (body.tsigkeys as { name: string }[]).map(({ name }) => name);
};

/** Returns the actions in the audit trail on a key, the first first. */
async function actionsOn(id: string): Promise<string[]> {
  const { body } = await service.get(`/v2/audit?resource_id=${id}&limit=100`);
  const records = body.records as { seq: number; action: string }[];
  return records.toSorted((one, other) => one.seq - other.seq).map(({ action }) => action);
}

const until = (work: () => Promise<void>) => vi.waitFor(work, { timeout: 120_000, interval: 20 });

describe('POST /v2/tsigkeys/{id}/rotate', () => {
  test('201 with a successor that has the scope and the grants of the key, one record of the change and one event', async () => {
    const grants = [{ rights: ['transfer'], zones: 'all' }];
    const id = await created({ name: 'first.example.', algorithm: 'hmac-sha512', grants });
    const before = await keyOf(id);
    const response = await done(act(id, 'rotate', {}));
    const { body: next } = response;
    expect(response.status).toBe(201);
    expect(response.headers.get('location')).toBe(
      `${service.variables.TSIGIL_URL}/v2/tsigkeys/${next.id}`,
    );
    expect(Object.keys(next)).toEqual(Object.keys(before));
    expect(next).toMatchObject({
      name: 'first-r2.example.',
      algorithm: 'hmac-sha512',
      scope: 'POOL',
      resource_id: POOL_ID,
      updated_at: null,
    });
    expect(next.secret).not.toBe(before.secret);
    expect(Buffer.from(String(next.secret), 'base64')).toHaveLength(64);
    expect(await keyOf(id)).toEqual(before);
    const { body } = await service.get(`/v2/tsigkeys/${next.id}/grants`);
    expect(body.grants).toEqual(grants);
    expect(await actionsOn(String(next.id))).toEqual(['tsigkeys:rotate']);
    await until(async () => {
      const events = (await actionsOn(id)).filter((action) => action.includes('rotation'));
      expect(events).toEqual(
        ['started', 'verified', 'waiting'].map((event) => `tsigkey.rotation.${event}`),
      );
    });
    expect(await lifecycleOf(String(next.id))).toEqual(await lifecycleOf(id));
    expect(await lifecycleOf(id)).toMatchObject({
      handle: 'first.example.',
      owner: null,
      purpose: null,
      consumers: [],
      keys: [
        { id, name: 'first.example.', overlap_seconds: 604_800, successor_id: next.id },
        { id: next.id, name: 'first-r2.example.', state: 'active', successor_id: null },
      ],
    });
  });

  test('409 for a key with a successor, and for one to which clients have not moved, and 201 once the key drains', async () => {
    const id = await created({ name: 'row' });
    const next = await rotated(id);
    expect(expectError(await act(id, 'rotate', {}), 409, 'rotation_state')).toContain(next);
    expect(expectError(await act(next, 'rotate', {}), 409, 'rotation_state')).toMatch(
      /or confirm 'row' if they have it$/,
    );
    await until(async () => expect(await statesOf(id)).toEqual(['switching', 'active']));
    await done(act(id, 'confirm', {}));
    const third = await rotated(next);
    expect((await keyOf(third)).name).toBe('row-r3');
    expect((await statesOf(id))[0]).toBe('draining');
    expect(await listed('lineage=row')).toEqual(['row', 'row-r2', 'row-r3']);
  });

  test.each([
    [{ overlap_seconds: -1 }, 'overlap_seconds: type'],
    [{ retire: 'never' }, 'retire: enum'],
    [{ strategy: 'both' }, 'strategy: enum'],
    [{ algorithm: 'hmac-sha3' }, 'algorithm: enum'],
    [{ scope: 'ZONE' }, 'scope: additionalProperties'],
    [{ name: '' }, 'name: minLength'],
    // Members that the way of the rotation would ignore.
    [
      { strategy: 'in_place', name: 'other', overlap_seconds: 60 },
      'name: not',
      'overlap_seconds: not',
    ],
    [{ strategy: 'in_place', retire: 'manual' }, 'retire: not'],
    [
      { compromised: true, overlap_seconds: 0, retire: 'manual' },
      'overlap_seconds: not',
      'retire: not',
    ],
  ])('400 for %j, and nothing changes', async (body, ...problems) => {
    const id = await created();
    const before = await keyOf(id);
    expect(problemsOf(await act(id, 'rotate', body))).toEqual(problems);
    expect([await keyOf(id), await statesOf(id)]).toEqual([before, ['active']]);
  });

  test('in_place gives the key another secret', async () => {
    const id = await created();
    const before = await keyOf(id);
    const { body, headers } = await done(act(id, 'rotate', { strategy: 'in_place' }));
    expect(headers.get('location')).toContain(id);
    expect(body).toMatchObject({ id, name: before.name });
    expect(body.secret).not.toBe(before.secret);
    expect(await statesOf(id)).toEqual(['active']);
  });

  test('compromised deletes the key at once, and its name is free if it is not the handle', async () => {
    const id = await created({ name: 'leaked' });
    const next = await rotated(id, { compromised: true });
    expect((await service.get(`/v2/tsigkeys/${id}`)).status).toBe(404);
    expectError(await act(id, 'restore'), 404, 'tsigkey_not_found');
    expect(await statesOf(next)).toEqual(['active']);
    const { body } = await service.get('/v2/audit?action=tsigkeys:rotate&limit=2');
    const mark = expect.stringMatching(/^hmac:/) as string;
    expect(body.records).toMatchObject([
      { resource_id: id, detail: { changes: { name: ['leaked', null], secret: [mark, null] } } },
      {
        resource_id: next,
        detail: { changes: { name: [null, 'leaked-r2'], secret: [null, mark] } },
      },
    ]);
    const third = await rotated(next, { compromised: true });
    await created({ name: 'leaked-r2' });
    expectError(await create({ name: 'LEAKED.' }), 409, 'reserved_name');
    expect(await listed('lineage=leaked')).toEqual(['leaked-r3']);
    await service.delete(`/v2/tsigkeys/${third}`);
    await created({ name: 'leaked' });
  });

  test('warns of an overlap shorter than a day', async () => {
    const response = await done(act(await created(), 'rotate', { overlap_seconds: 3600 }));
    expect(response.headers.get('tsigil-warning')).toContain('overlap');
    const quiet = await done(act(await created(), 'rotate', { overlap_seconds: 86_400 }));
    expect(quiet.headers.get('tsigil-warning')).toBe(null);
  });
});

describe('the way to retirement', () => {
  test('a key without name servers waits for a confirmation, then for its time', async () => {
    const id = await created({ name: 'whole' });
    const next = await rotated(id, { overlap_seconds: 3 * 86_400 });
    await until(async () => {
      expect((await lifecycleOf(id)).keys[0]).toMatchObject({
        state: 'switching',
        retire_at: null,
        waiting: { reason: 'unknown_consumers', who: [] },
      });
    });
    expect(await listed('lineage=whole&current=true')).toEqual(['whole-r2']);
    const { body } = await done(act(id, 'confirm', {}));
    expect(body.keys).toMatchObject([{ state: 'draining', waiting: null }, { id: next }]);
    aheadMs += 2 * DAY_MS;
    await new Promise((resume) => setTimeout(resume, 100));
    expect(await statesOf(id)).toEqual(['draining', 'active']);
    aheadMs += 2 * DAY_MS;
    await until(async () => expect(await statesOf(id)).toEqual(['retired', 'active']));
    expect((await service.get(`/v2/tsigkeys/${id}`)).status).toBe(404);
    expect(await listed('lineage=whole')).toEqual(['whole-r2']);
    aheadMs += 8 * DAY_MS;
    await until(async () => expect(await statesOf(next)).toEqual(['active']));
    expectError(await act(id, 'restore'), 404, 'tsigkey_not_found');
  });

  test('automatic retires without a confirmation, and manual waits for a request', async () => {
    const [one, other] = [await created(), await created()];
    await rotated(one, { retire: 'automatic', overlap_seconds: 0 });
    await rotated(other, { retire: 'manual', overlap_seconds: 0 });
    await until(async () => expect((await statesOf(one))[0]).toBe('retired'));
    await done(act(other, 'confirm', {}));
    await until(async () => {
      expect((await lifecycleOf(other)).keys[0]).toMatchObject({ waiting: { reason: 'manual' } });
    });
    const { body } = await done(act(other, 'retire'));
    expect(body.keys).toMatchObject([{ state: 'retired' }, { state: 'active' }]);
  });

  test('409 to retire a key whose clients may need it, except by force', async () => {
    const id = await created();
    expectError(await act(id, 'retire'), 409, 'rotation_state');
    await rotated(id);
    await until(async () => expect((await statesOf(id))[0]).toBe('switching'));
    expectError(await act(id, 'retire'), 409, 'rotation_state');
    await done(act(id, 'retire', { force: true }));
    expect((await statesOf(id))[0]).toBe('retired');
  });
});

describe('DELETE of a key in a lineage', () => {
  test('of the successor makes its predecessor active again', async () => {
    const id = await created();
    const next = await rotated(id);
    expect((await service.delete(`/v2/tsigkeys/${next}`)).status).toBe(204);
    expect(await lifecycleOf(id)).toMatchObject({
      keys: [{ id, state: 'active', successor_id: null, started_at: null, waiting: null }],
    });
    await rotated(id);
  });

  test('of the predecessor destroys it now, and the handle stays', async () => {
    const id = await created({ name: 'handle' });
    const next = await rotated(id);
    expect((await service.delete(`/v2/tsigkeys/${id}`)).status).toBe(204);
    expectError(await act(id, 'restore'), 404, 'tsigkey_not_found');
    expect(await lifecycleOf(next)).toMatchObject({ handle: 'handle', keys: [{ id: next }] });
    expect(await listed('lineage=HANDLE.&current=true')).toEqual(['handle-r2']);
    const refused = await service.patch(`/v2/tsigkeys/${await created()}`, { name: 'handle' });
    expectError(refused, 409, 'reserved_name');
  });

  test('of one in the middle joins its neighbours', async () => {
    const first = await created();
    const second = await rotated(first);
    await until(async () => expect((await statesOf(first))[0]).toBe('switching'));
    await done(act(first, 'confirm', {}));
    const third = await rotated(second);
    await service.delete(`/v2/tsigkeys/${second}`);
    expect((await lifecycleOf(first)).keys).toMatchObject([
      { id: first, successor_id: third },
      { id: third, successor_id: null },
    ]);
    expect((await lifecycleOf(first)).keys[0]?.state).not.toBe('active');
  });
});

describe('POST /v2/tsigkeys/{id}/abort', () => {
  test('withdraws a successor while it spreads, and later only by force', async () => {
    const id = await created();
    const next = await rotated(id);
    await until(async () => expect((await statesOf(id))[0]).toBe('switching'));
    expectError(await act(id, 'abort'), 409, 'rotation_state');
    const { body } = await done(act(id, 'abort', { force: true }));
    expect(body.keys).toMatchObject([{ id, state: 'active', successor_id: null }]);
    expect((await service.get(`/v2/tsigkeys/${next}`)).status).toBe(404);
    expectError(await act(id, 'abort'), 409, 'rotation_state');
    expect(await actionsOn(next)).toEqual(['tsigkeys:rotate', 'tsigkeys:abort']);
  });
});

describe('POST /v2/tsigkeys/{id}/restore', () => {
  test('200 with the same key, which was in no list meanwhile', async () => {
    const grants = [{ rights: ['transfer'], zones: 'all' }];
    const id = await created({ name: 'forgotten', grants });
    const before = await keyOf(id);
    const next = await rotated(id);
    await done(act(id, 'retire', { force: true }));
    expect(await listed('name=forgotten')).toEqual([]);
    for (const name of ['forgotten', 'Forgotten.'])
      expectError(await create({ name }), 409, 'reserved_name');
    const { body } = await done(act(id, 'restore'));
    expect(body.keys).toMatchObject([
      { id, state: 'switching', waiting: { reason: 'unknown_consumers' } },
      { id: next, state: 'active' },
    ]);
    expect(await keyOf(id)).toEqual(before);
    expect((await service.get(`/v2/tsigkeys/${id}/grants`)).body.grants).toEqual(grants);
    expectError(await act(id, 'restore'), 409, 'rotation_state');
    expect(await actionsOn(id)).toEqual(expect.arrayContaining(['tsigkeys:restore']));
  });

  test('404 once its time is over, even before its secret is destroyed', async () => {
    let offset = 0;
    const slow = await startTestService(
      {},
      {
        clock: createClock(() => Date.now() + offset),
        rotations: { intervalMs: DAY_MS, pollMs: DAY_MS },
      },
    );
    const [late, early] = [await created({}, slow), await created({}, slow)];
    for (const id of [late, early]) {
      await done(act(id, 'rotate', {}, slow));
      await done(act(id, 'retire', { force: true }, slow));
    }
    offset = 7 * DAY_MS - 60_000;
    await done(act(early, 'restore', undefined, slow));
    offset = 7 * DAY_MS + 60_000;
    expectError(await act(late, 'restore', undefined, slow), 404, 'tsigkey_not_found');
  });
});

describe('callers with limits', () => {
  let estate: Estate;
  let limited: Awaited<ReturnType<typeof limitedTokens>>;

  beforeAll(async () => {
    estate = await createEstate(service);
    limited = await limitedTokens(service, estate);
  });

  test('409 that names no successor outside the limits', async () => {
    const [inside] = estate.poolKeys;
    const next = await rotated(inside, { name: `moved-${(count += 1)}` });
    const { body } = await done(
      service.call('PATCH', `/v2/tsigkeys/${next}`, { resource_id: estate.pools[1] }),
    );
    const response = await act(inside, 'rotate', {}, limited.pools);
    expectError(response, 409, 'rotation_state');
    expect(response.text).not.toContain(next);
    expect(response.text).not.toContain(body.name);
    await done(act(inside, 'abort', { force: true }));
  });
});

test('a key may get the handle of its own lineage again', async () => {
  const id = await created({ name: 'renamed.example' });
  const other = await created();
  await done(service.call('PATCH', `/v2/tsigkeys/${id}/lifecycle`, { owner: 'netops' }));
  await done(service.call('PATCH', `/v2/tsigkeys/${id}`, { name: 'mistake.example' }));
  const taken = { name: 'renamed.example' };
  expectError(await service.call('PATCH', `/v2/tsigkeys/${other}`, taken), 409, 'reserved_name');
  await done(service.call('PATCH', `/v2/tsigkeys/${id}`, { name: 'Renamed.example.' }));
  const next = await rotated(id);
  await done(act(id, 'retire', { force: true }));
  // The name of a retired key stays with that key, in its lineage too.
  expectError(await service.call('PATCH', `/v2/tsigkeys/${next}`, taken), 409, 'reserved_name');
  await done(act(id, 'restore'));
});

test('a PATCH of the secret of a delivered key warns, and one of its name does not', async () => {
  const pool = (await service.post('/v2/pools', { name: 'served' })).body.id;
  const secret = Buffer.alloc(32, 1).toString('base64');
  const id = await created({ resource_id: pool });
  const warningsOf = async (body: object) =>
    (await service.patch(`/v2/tsigkeys/${id}`, body)).headers.get('tsigil-warning');
  expect(await warningsOf({ secret })).toBe(null);
  const server = { name: 'served', pool_id: pool, driver: 'bind', address: '192.0.2.53' };
  await service.post('/v2/nameservers', server);
  expect(await warningsOf({ secret: Buffer.alloc(32, 2).toString('base64') })).toContain('rotate');
  expect(await warningsOf({ name: 'renamed' })).toBe(null);
});

describe('PATCH /v2/tsigkeys/{id}/lifecycle', () => {
  const patch = (id: string, body: object, client: Client = service) =>
    client.patch(`/v2/tsigkeys/${id}/lifecycle`, body);
  const eventsOf = async (id: string, client: Client = service) => {
    const { body } = await client.get(`/v2/audit?resource_id=${id}&limit=100`);
    return body.records as { action: string; detail: Record<string, unknown> }[];
  };
  const partner = { name: 'ns3.partner.example', address: '2001:DB8:0::7', contact: 'noc' };

  test('412 with the entity tag of a state that another caller has changed, and 200 with the present one', async () => {
    const id = await created();
    const path = `/v2/tsigkeys/${id}/lifecycle`;
    const tagOf = async () => String((await service.get(path)).headers.get('etag'));
    const patchIf = (tag: string, body: object) =>
      service.call('PATCH', path, body, { 'if-match': tag });
    const former = await tagOf();
    const changed = await patchIf(former, { consumers: [partner] });
    expect(changed.status, changed.text).toBe(200);
    expect(changed.headers.get('etag')).toBe(await tagOf());
    expectError(await patchIf(former, { owner: 'late' }), 412, 'precondition_failed');
    expect(await lifecycleOf(id)).toMatchObject({ owner: null, consumers: [{ contact: 'noc' }] });
    expect((await patchIf(await tagOf(), { owner: 'netops' })).status).toBe(200);
    await rotated(id);
    // What the service observes meanwhile is no change by another caller.
    const rotating = await tagOf();
    await until(async () => expect((await lifecycleOf(id)).keys[0]?.waiting).not.toBe(null));
    expect(await tagOf()).toBe(rotating);
    expect((await patchIf('*', { owner: null })).status).toBe(200);
  });

  test('says who uses a key, for its successors too, and leaves the key as it is', async () => {
    const id = await created();
    const before = await keyOf(id);
    const { body } = await done(
      patch(id, { owner: 'netops', purpose: 'Frankfurt', consumers: [partner] }),
    );
    const consumers = [{ ...partner, address: '2001:db8::7' }];
    expect(body).toMatchObject({ owner: 'netops', purpose: 'Frankfurt', consumers });
    expect(await keyOf(id)).toEqual(before);
    const next = await rotated(id);
    await done(patch(next, { purpose: null, consumers: [{ name: 'a' }, { name: 'b' }] }));
    expect(await lifecycleOf(id)).toMatchObject({
      owner: 'netops',
      purpose: null,
      consumers: [
        { name: 'a', address: null, contact: null },
        { name: 'b', address: null, contact: null },
      ],
    });
    const [, changed] = [await eventsOf(id), await eventsOf(next)];
    expect(changed.find(({ action }) => action === 'tsigkeys:update')?.detail).toMatchObject({
      before: { purpose: 'Frankfurt', consumers },
      after: { purpose: null },
    });
  });

  test('refuses what is no address, and two consumers with one name', async () => {
    const id = await created();
    for (const consumers of [
      [{ name: 'a', address: 'ns1.example' }],
      [{ name: 'a', address: 'fe80::1%eth0' }],
      [{ name: 'a' }, { name: 'a', address: '192.0.2.1' }],
      [{ address: '192.0.2.1' }],
    ])
      expectError(await patch(id, { consumers }), 400, 'invalid_object');
    for (const body of [{ owner: '' }, { expires_at: 'soon' }, { name: 'x' }])
      expectError(await patch(id, body), 400, 'invalid_object');
    expect(await lifecycleOf(id)).toMatchObject({ owner: null, consumers: [] });
  });

  test('the service warns of a key before it expires, then each day, and never cuts it off', async () => {
    const id = await created();
    const expiry = new Date(Date.now() + aheadMs + 40 * DAY_MS).toISOString();
    await done(patch(id, { expires_at: expiry }));
    const warnings = async () =>
      (await eventsOf(id))
        .filter(({ action }) => action === 'tsigkey.rotation.expiring')
        .map(({ detail }) => detail.days)
        .reverse();
    const expected: number[] = [];
    for (const [ahead, left] of [
      [11, 29],
      [16, 13],
      [8, 5],
      [6, -1],
      [1, -2],
    ] as const) {
      aheadMs += ahead * DAY_MS;
      expected.push(left);
      await until(async () => expect(await warnings()).toEqual(expected));
    }
    expect((await service.get(`/v2/tsigkeys/${id}`)).status).toBe(200);
    const { text } = await service.get('/metrics');
    expect(text).toMatch(/tsigil_tsigkeys_expiring\{within="0d"\} [1-9]/);
  });

  test('tsigkeys.maxAgeDays makes keys expire by the age of their secret', async () => {
    let now = Date.now();
    const own = await startTestService(
      { TSIGIL_TSIGKEYS_MAX_AGE_DAYS: '365' },
      { clock: createClock(() => now), rotations: { intervalMs: 20, pollMs: 20 } },
    );
    const id = await created({}, own);
    const due = now + 365 * DAY_MS;
    const shown = (await lifecycleOf(id, own)).keys[0]?.expires_at ?? '';
    expect(Math.abs(Date.parse(`${shown}Z`) - due)).toBeLessThan(60_000);
    now += 370.5 * DAY_MS;
    await until(async () => {
      const found = (await eventsOf(id, own)).filter(({ action }) => action.endsWith('expiring'));
      expect(found.map(({ detail }) => detail.days)).toEqual([-5]);
    });
    const secret = Buffer.alloc(32, 7).toString('base64');
    await done(own.patch(`/v2/tsigkeys/${id}`, { secret }));
    const states = await own.post('/v2/tsigkeys/states', { ids: [id] });
    const [state] = states.body.states as { expires_at: string }[];
    expect(Date.parse(`${state?.expires_at}Z`)).toBeGreaterThan(now + 364 * DAY_MS);
  });
});

test.runIf(process.env.TEST_DATABASE === 'postgres')(
  'two processes rotate a key once, and take each step once',
  async () => {
    const database = await testDatabase(temporaryFolder());
    const token = 'two-processes-0123456789-0123456789abcdef';
    const variables = { TSIGIL_DATABASE_URL: database, TSIGIL_ADMIN_TOKEN: token };
    const rotations = { intervalMs: 10, pollMs: 10 };
    const both = [
      await startTestService(variables, { rotations }),
      await startTestService(variables, { rotations }),
    ];
    const everywhere = (work: (client: Client) => Promise<ApiResponse>) =>
      Promise.all([...both, ...both].map(work));
    for (let round = 0; round < 10; round += 1) {
      const id = await created({}, both[0]);
      const started = await everywhere((client) =>
        act(id, 'rotate', { overlap_seconds: 0 }, client),
      );
      expect(started.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
      const confirmed = await everywhere((client) => act(id, 'confirm', {}, client));
      for (const { status } of confirmed) expect([200, 404, 409]).toContain(status);
      await until(async () => {
        const [old, next] = (await lifecycleOf(id, both[1])).keys;
        expect([old?.state, next?.state]).toEqual(['retired', 'active']);
      });
      const { body } = await (both[0] as Client).get(`/v2/audit?resource_id=${id}&limit=100`);
      const actions = (body.records as { action: string }[]).map(({ action }) => action);
      expect(actions.filter((action) => /started|retired/.test(action)).sort()).toEqual([
        'tsigkey.rotation.retired',
        'tsigkey.rotation.started',
      ]);
      const restored = await everywhere((client) => act(id, 'restore', undefined, client));
      expect(restored.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    }
  },
);
