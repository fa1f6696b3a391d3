import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { DriverError } from '../../src/brands/driver.ts';
import { recordSecret } from '../harness/evidence.ts';
import { temporaryFolder } from '../harness/service.ts';
import { startAgent, startAgentRequests, type AgentRequests } from './agent-requests.ts';
import { folderServer } from './folder-driver.ts';

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
  for (const members of [{}, { error }]) {
    const { status, body } = await observe(response, members);
    expect([status, body.type]).toEqual([409, 'agent_conflict']);
    expect(body.message).toContain("Set the member 'delivery' of the name server to 'agent'");
  }
  expect(await shown()).toMatchObject({ keys_live: 0, attempts: 0, error_code: null });
  const { body } = await service.get(`/v2/tsigkeys/${key}/deliveries`);
  expect(body.servers).toMatchObject([{ delivered_version: 0 }]);
});

test('an agent sends no secret that its name server quotes, in any form', async () => {
  const { service, id, createKey, shown, token } = requests;
  const secret = `+/${randomBytes(32).toString('base64').slice(2)}`;
  recordSecret(secret);
  const key = await createKey('key-1', { secret });
  const quoted = encodeURIComponent(secret);
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'token'), token);
  const server = folderServer(join(folder, 'server'));
  server.fail(new DriverError('refused_by_server', `line 7:\r\nsecret ${quoted} is bad`));
  const lines: string[] = [];
  const tokenFile = join(folder, 'token');
  const stop = startAgent(service.url, tokenFile, server, 'host-1', (line) => lines.push(line));
  onTestFinished(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const kept = 'The message contained a secret, and was removed';
  await expect.poll(async () => (await shown()).error, { timeout: 120_000 }).toBe(kept);
  const { text } = await service.get(`/v2/tsigkeys/${key}/deliveries`);
  expect(text).toContain(kept);
  const { text: one } = await service.get(`/v2/nameservers/${id}`);
  for (const each of [text, one, ...service.log, ...lines]) expect(each).not.toContain(quoted);
});
