import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startAgentRequests, type AgentRequests } from './agent-requests.ts';

let requests: AgentRequests;

beforeEach(async () => {
  requests = await startAgentRequests();
});
afterEach(() => requests.service.close());

test('409 for a report after the service took over the delivery, and nothing changes', async () => {
  const { service, id, createKey, desired, observe, shown } = requests;
  const key = await createKey('key-1');
  const response = await desired();
  await service.patch(`/v2/nameservers/${id}`, { delivery: 'service' });
  const error = { code: 'unreachable', message: 'stolen' };
  for (const members of [{}, { completed: false, outcome: 'failed', state: 'failed', error }]) {
    const { status, body } = await observe(response, members);
    expect([status, body.type]).toEqual([409, 'agent_conflict']);
    expect(body.message).toContain("Set the member 'delivery' of the name server to 'agent'");
  }
  expect(await shown()).toMatchObject({ keys_live: 0, attempts: 0, error_code: null });
  const { body } = await service.get(`/v2/tsigkeys/${key}/deliveries`);
  expect(body.servers).toMatchObject([{ delivered_version: 0 }]);
});

test('400 for a state that an agent cannot determine', async () => {
  const { createKey, desired, observe, shown } = requests;
  const key = await createKey('key-1');
  const response = await desired();
  const before = await shown();
  for (const state of ['paused', 'pending'])
    expect((await observe(response, { state })).status).toBe(400);
  const row = { key_id: key, state: 'pending', delivered_version: 1, error: null };
  expect((await observe(response, { deliveries: [row] })).status).toBe(400);
  expect(await shown()).toEqual(before);
});

test('200 for a report that quotes a secret, and no response or log line contains the secret', async () => {
  const { service, id, createKey, desired, observe } = requests;
  const secret = `+/${randomBytes(32).toString('base64').slice(2)}`;
  const key = await createKey('key-1', { secret });
  const quoted = encodeURIComponent(secret);
  const error = { code: 'refused_by_server', message: `line 7: secret ${quoted} is bad` };
  const deliveries = [{ key_id: key, state: 'failed', delivered_version: 0, error }];
  const more = { state: 'failed', outcome: 'failed', error, deliveries };
  expect((await observe(await desired(), more)).status).toBe(200);
  const { text } = await service.get(`/v2/tsigkeys/${key}/deliveries`);
  const kept = 'The message contained a secret, and was removed';
  expect(text).toContain(kept);
  expect((await service.get(`/v2/nameservers/${id}`)).body.error).toBe(kept);
  for (const shown of [text, (await desired()).text, ...service.log])
    expect(shown).not.toContain(quoted);
});

test("200 for a report with a secret as its code, and the service replaces the code with 'internal'", async () => {
  const { createKey, desired, observe, shown } = requests;
  const secret = randomBytes(32);
  await createKey('key-1', { secret: secret.toString('base64') });
  const error = { code: secret.toString('hex'), message: 'x' };
  expect((await observe(await desired(), { state: 'failed', error })).status).toBe(200);
  expect(await shown()).toMatchObject({ error_code: 'internal', error: 'x' });
});

test('200 for a report without a secret, and the service stores its message unchanged', async () => {
  const { createKey, desired, observe, shown } = requests;
  await createKey('key-1');
  const message =
    "the file '/etc/bind/tsigil/keys.conf' of ns1.example.org cannot be written: no space left";
  const error = { code: 'not_writable', message };
  expect((await observe(await desired(), { state: 'failed', error })).status).toBe(200);
  expect(await shown()).toMatchObject({ error_code: 'not_writable', error: message });
});
