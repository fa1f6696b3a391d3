import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { auditRecords, queryDatabase } from '../harness/audit.ts';
import type { ApiResponse, Client } from '../harness/client.ts';
import { shownServer } from '../harness/delivery.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { answerTo } from './agent-requests.ts';

const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
const SERVER = { name: 'ns1', pool_id: POOL, driver: 'bind', address: '192.0.2.53' };

let url: string;
let service: TestService;
let agent: Client;
let id: string;

beforeEach(async () => {
  url = await testDatabase(temporaryFolder());
  service = await startTestService(
    { TSIGIL_DATABASE_URL: url, TSIGIL_AUDIT_SECRET_READS: 'each' },
    { auditIntervalMs: 50, tokenUseIntervalMs: 50 },
  );
  id = await created('/v2/nameservers', { ...SERVER, delivery: 'agent' });
  const members = { roles: ['nameserver-agent'], nameservers: [id] };
  const { body } = await service.post('/v2/tokens', { name: 'agent', ...members });
  agent = service.with(String(body.token));
});
afterEach(() => service.close());

async function created(path: string, body: object): Promise<string> {
  const response = await service.post(path, body);
  if (response.status >= 300) throw new Error(response.text);
  return String(response.body.id);
}

const createKey = (name: string, resource = POOL) =>
  created('/v2/tsigkeys', {
    name,
    algorithm: 'hmac-sha256',
    scope: 'POOL',
    resource_id: resource,
  });

const desired = (etag?: string, wait = 0, name = 'host-1', client = agent): Promise<ApiResponse> =>
  client.get(
    `/v2/nameservers/${id}/desired?agent=${name}&wait=${wait}`,
    etag === undefined ? {} : { 'if-none-match': etag },
  );

const leaseUntil = async () =>
  Number((await queryDatabase(url, 'SELECT lease_until FROM nameservers'))[0]?.lease_until);

/** Sends a request, and resolves once the service has received it. */
async function begin(etag: string, wait: number): Promise<{ answer: Promise<ApiResponse> }> {
  const former = await leaseUntil();
  const answer = desired(etag, wait);
  await expect.poll(leaseUntil).toBeGreaterThan(former);
  return { answer };
}

/** Answers that a name server has all keys of a response to `desired`. */
const observe = (response: ApiResponse, members: object = {}): Promise<ApiResponse> =>
  agent.call('PUT', `/v2/nameservers/${id}/observed`, { ...answerTo(response), ...members });

const namesIn = ({ body }: ApiResponse): string[] =>
  ((body.state?.keys ?? []) as { name: string }[]).map(({ name }) => name);

const shown = async () => (await service.get(`/v2/nameservers/${id}`)).body;
const stateOf = async (key: string) =>
  (await service.get(`/v2/tsigkeys/${key}/deliveries`)).body.state as string;

/** Makes one pass, so that the name server has all keys. Returns the ETag of the state. */
async function pass(): Promise<string> {
  const response = await desired();
  expect([response.status, (await observe(response)).status]).toEqual([200, 200]);
  return String(response.headers.get('etag'));
}

test('200 with the keys and their secrets, and a report marks the keys as delivered', async () => {
  const key = await createKey('key-1');
  expect(await stateOf(key)).toBe('failed');
  expect(await shown()).toMatchObject({ state: 'failed', error_code: 'no_agent' });
  const response = await desired();
  const secret = String((await service.get(`/v2/tsigkeys/${key}`)).body.secret);
  expect(response.body).toMatchObject({
    format: 1,
    name_server: { id, name: 'ns1', driver: 'bind' },
    state: {
      keys: [
        {
          id: key,
          name: 'key-1',
          algorithm: 'hmac-sha256',
          secret,
          version: 1,
          access: { transfer: 'all' },
        },
      ],
    },
    accepted: [key],
  });
  expect(response.headers.get('etag')).toBe(`"${response.body.tag}"`);
  expect(await stateOf(key)).toBe('pending');
  expect((await observe(response)).body).toEqual({ recorded: true });
  expect([await stateOf(key), (await shown()).state]).toEqual(['delivered', 'live']);
  expect(service.log.join('\n')).toContain('Delivered keys to a name server');
});

test('200 for a waiting request after a commit, even by another process on the same database', async () => {
  const writers = [service];
  if (url.startsWith('postgres:')) {
    const variables = { TSIGIL_DATABASE_URL: url, TSIGIL_ADMIN_TOKEN: service.token };
    const other = await startTestService(variables, { folder: service.folder });
    onTestFinished(() => other.close());
    writers.push(other);
  }
  for (const writer of writers) {
    let etag = await pass();
    for (let round = 0; round < 5; round += 1) {
      const { answer } = await begin(etag, 30);
      const name = randomUUID();
      const key = { algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };
      expect((await writer.post('/v2/tsigkeys', { name, ...key })).status).toBe(201);
      const response = await answer;
      expect(namesIn(response)).toContain(name);
      await observe(response);
      etag = String(response.headers.get('etag'));
    }
  }
});

test('200 without the state for a requested comparison, because the agent already has it', async () => {
  const key = await createKey('key-1');
  const etag = await pass();
  await service.post(`/v2/nameservers/${id}/reconcile`, { confirm: true });
  const { status, body } = await desired(etag, 5);
  expect([status, body.state, body.is_applied, body.accepted]).toEqual([200, null, true, [key]]);
});

test('200 again with secrets when the last response was lost', async () => {
  await createKey('key-1');
  const etag = await pass();
  await createKey('key-2');
  await desired(etag, 5);
  const response = await desired(etag, 5);
  expect([response.status, namesIn(response)]).toEqual([200, ['key-1', 'key-2']]);
});

test('200 without the keys that no name server can use, and the answer marks them as undeliverable', async () => {
  const bad = await createKey('no domain name');
  const response = await desired();
  expect([namesIn(response), response.body.further]).toEqual([[], ['no domain name']]);
  await observe(response);
  expect(await stateOf(bad)).toBe('undeliverable');
});

test('401 for a request whose token is deleted while the request waits', async () => {
  const etag = await pass();
  const { answer } = await begin(etag, 30);
  const { body } = await service.get('/v2/tokens?name=agent');
  await service.delete(`/v2/tokens/${body.tokens[0].id}`);
  await createKey('key-1');
  const response = await answer;
  expect([response.status, response.body.state]).toEqual([401, undefined]);
});

test('409 with the name of the holder for a second agent', async () => {
  const etag = await pass();
  for (const second of [await desired(undefined, 0, 'host-2'), await desired(etag, 0, 'host-2')]) {
    expect([second.status, second.body.type]).toEqual([409, 'agent_conflict']);
    expect(second.body.message).toContain("'host-1' holds the lease of the name server");
  }
  expect((await desired(etag)).status).toBe(304);
});

test('409 for a report of an earlier pass, and nothing changes', async () => {
  const key = await createKey('key-1');
  const late = await desired();
  const present = await desired();
  expect((await observe(late)).body.type).toBe('agent_conflict');
  expect((await observe(present, { agent: 'host-2' })).body.type).toBe('agent_conflict');
  expect(await stateOf(key)).toBe('pending');
  expect((await observe(present)).status).toBe(200);
  expect((await observe(present, { fence: 1 })).body.type).toBe('agent_conflict');
});

test('200 for an answer, and only the changes that the job includes are removed', async () => {
  await createKey('key-1');
  const first = await desired();
  const second = await createKey('key-2');
  await observe(first);
  expect(await stateOf(second)).toBe('pending');
  const next = await desired(String(first.headers.get('etag')), 10);
  expect([next.status, namesIn(next).length, next.body.changes]).toEqual([200, 2, 1]);
});

test('200 for an answer about keys that are not in the job, and the service ignores these keys', async () => {
  const pool = await created('/v2/pools', { name: 'other' });
  const foreign = await createKey('foreign', pool);
  await createKey('key-1');
  const ids = [foreign, randomUUID()];
  const error = { code: 'not_verified', message: 'x' };
  const verdicts = ids.map((each) => ({ id: each, error }));
  const problems = ids.map((each) => ({ id: each, code: 'name_taken', message: 'x' }));
  expect((await observe(await desired(), { verdicts, problems })).status).toBe(200);
  expect((await service.get(`/v2/tsigkeys/${foreign}/deliveries`)).body.servers).toEqual([]);
  expect((await desired()).body).toMatchObject({ owned: ['key-1'], further: [] });
});

test('200 for an answer at another process than the one that handed out the pass', async () => {
  const key = await createKey('key-1');
  let other: Client = agent;
  if (url.startsWith('postgres:')) {
    const variables = { TSIGIL_DATABASE_URL: url, TSIGIL_ADMIN_TOKEN: service.token };
    const process = await startTestService(variables, { folder: service.folder });
    onTestFinished(() => process.close());
    other = process.with(agent.token);
  }
  const response = await desired(undefined, 0, 'host-1', other);
  expect((await observe(response)).status).toBe(200);
  expect(await stateOf(key)).toBe('delivered');
});

test('200 with the stamp that the name server has, however many passes the agent did not answer', async () => {
  await createKey('key-1');
  await observe(await desired());
  const answered = await desired();
  const [stamp] = answered.body.stamps as [string];
  await observe(answered, { stamp });
  for (let pass = 0; pass < 70; pass += 1) expect((await desired()).status).toBe(200);
  const { stamps } = (await desired()).body as { stamps: string[] };
  expect(stamps).toHaveLength(64);
  expect(stamps).toContain(stamp);
});

test('200 for an answer that is sent twice, because the first response was lost', async () => {
  const key = await createKey('key-1');
  const response = await desired();
  for (let attempt = 0; attempt < 2; attempt += 1)
    expect((await observe(response)).status).toBe(200);
  expect(await stateOf(key)).toBe('delivered');
});

test('400 for numbers and codes outside their limits', async () => {
  const response = await desired();
  for (const members of [
    { duration_ms: 2 ** 53 - 1 },
    { error: { code: 'line\nfeed', message: 'x' } },
    { error: { code: 'A code', message: 'x' } },
    { verdicts: [{ id: 'no id', error: { code: 'not_verified', message: 'x' } }] },
    { verified: -1 },
    { stamp: 'a b' },
    { unknown_keys: Array<string>(1001).fill('x') },
    { unknown_keys: ['x'.repeat(256)] },
    { open: { code: 'open', message: '' } },
    { open: { code: 'open', message: 'x'.repeat(1001) } },
    { differences: [{ kind: 'extra', key: 'x'.repeat(256), message: 'x' }] },
  ])
    expect((await observe(response, members)).status).toBe(400);
  expect(await shown()).toMatchObject({ keys_wanted: 0, error_code: null });
});

test('200 for the largest answer of an agent', async () => {
  const error = { code: 'not_verified', message: 'refused' };
  const verdicts = Array.from({ length: 10_000 }, () => ({ id: randomUUID(), error }));
  const answered = await observe(await desired(), { verdicts });
  expect([answered.status, answered.body]).toEqual([200, { recorded: true }]);
});

test('the metrics distinguish at most 33 error codes from agents', async () => {
  for (let number = 0; number < 40; number += 1) {
    const error = { code: `reason_${number}`, message: 'x' };
    expect((await observe(await desired(), { error })).status).toBe(200);
  }
  const { text } = await service.get('/metrics');
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('tsigil_delivery_failures_total{'));
  expect(lines).toHaveLength(33);
  expect(lines.at(-1)).toContain('code="other"} 8');
});

test('200 for the report of a failure; no changes are removed, and a new change starts an attempt', async () => {
  const key = await createKey('key-1');
  const response = await desired();
  const message = "the file '/etc/bind/keys.conf' of ns1 cannot be written: no space left";
  const error = { code: 'not_writable', message };
  expect((await observe(response, { error })).status).toBe(200);
  const failed = { state: 'failed', error_code: 'not_writable', error: message, attempts: 1 };
  expect(await shown()).toMatchObject(failed);
  expect(await stateOf(key)).toBe('failed');
  const etag = String(response.headers.get('etag'));
  await createKey('key-2');
  expect((await desired(etag, 30)).status).toBe(200);
});

test('200 for the answer of a failure; the names of new keys that the agent has not begun to deliver are not owned', async () => {
  const [first, second] = [await createKey('key-1'), await createKey('key-2')];
  const failed = { error: { code: 'unreachable', message: 'connection refused' }, verdicts: [] };
  const response = await desired();
  expect(response.body.owned).toEqual([]);
  await observe(response, { ...failed, not_begun: [second] });
  const next = await desired();
  expect(next.body.owned).toEqual(['key-1']);
  await observe(next);
  await observe(await desired(), { ...failed, not_begun: [first] });
  expect((await desired()).body.owned.toSorted()).toEqual(['key-1', 'key-2']);
});

test("200 only while the name server's member 'delivery' is agent, 409 while it is service", async () => {
  await service.patch(`/v2/nameservers/${id}`, { delivery: 'service' });
  const { status, body } = await desired();
  expect([status, body.type]).toEqual([409, 'agent_conflict']);
  expect(body.message).toContain("Set the member 'delivery' of the name server to 'agent'");
  await service.patch(`/v2/nameservers/${id}`, { delivery: 'agent' });
  expect((await desired()).status).toBe(200);
});

test('409 without If-None-Match while delivery is paused, 304 with the current ETag', async () => {
  const etag = await pass();
  await service.patch(`/v2/nameservers/${id}`, { paused: true });
  expect((await desired()).body.message).toContain('paused');
  expect((await desired(etag)).status).toBe(304);
});

test('the audit trail has one record for each response with secrets, and none for polls without changes', async () => {
  const key = await createKey('key-1');
  const etag = await pass();
  for (let poll = 0; poll < 3; poll += 1) await desired(etag);
  await service.post(`/v2/nameservers/${id}/reconcile`, {});
  expect((await desired(etag, 5)).status).toBe(200);
  const reads = async () =>
    (await auditRecords(url)).filter(({ action }) => action === 'nameservers:desired');
  expect(await reads()).toMatchObject([
    {
      resource_id: id,
      resource_name: 'ns1',
      actor_name: 'agent',
      detail: { secrets: 1, ids: [key] },
    },
  ]);
});

// The service would cut the connections of requests that still wait 10 s after it began to stop.
test('304 for a waiting request when the service stops', async () => {
  const etag = await pass();
  const { answer } = await begin(etag, 30);
  await service.close();
  expect((await answer).status).toBe(304);
});

test('200 for a request that waits for deliveries when the service stops', async () => {
  const key = await createKey('key-1');
  await desired();
  const { body: token } = await service.post('/v2/tokens', { name: 'reader', roles: ['admin'] });
  const reader = service.with(String(token.token));
  const waiting = reader.get(`/v2/tsigkeys/${key}/deliveries?wait=30`);
  const path = `/v2/tokens/${token.id}`;
  await expect
    .poll(async () => (await service.get(path)).body.last_used_at as unknown)
    .not.toBeNull();
  await service.close();
  const { status, body } = await waiting;
  expect([status, body.state]).toEqual([200, 'pending']);
});

test('the service does not deliver to a configured name server that has an agent', async () => {
  const local = { file: '/nonexistent/tsigil.conf', controlKeyFile: '/nonexistent/rndc.key' };
  const entries = ['ns1', 'ns2'].map((name) => ({ ...SERVER, pool_id: undefined, name, local }));
  await service.close();
  service = await startTestService({
    TSIGIL_DATABASE_URL: url,
    TSIGIL_NAME_SERVERS: JSON.stringify(entries),
  });
  await createKey('key-1');
  // The service tries to deliver the key to the other name server.
  const other = () => shownServer(service, 'ns2');
  await expect.poll(other).toMatchObject({ state: 'failed', keys_wanted: 1 });
  expect(await shown()).toMatchObject({ error_code: 'no_agent', attempts: 0 });
  expect(service.log.join('\n')).toContain('An agent delivers the keys of this name server');
  const { body } = await service.get(`/v2/nameservers/${id}/check`);
  expect(body.requirements[0].hint).toContain('tsigil agent');
});
