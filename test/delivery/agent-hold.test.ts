import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tsigil } from '../cli/run.ts';
import type { Client } from '../harness/client.ts';
import {
  createKey,
  DEFAULT_POOL,
  deliveries,
  shownServer,
  type CreatedKey,
} from '../harness/delivery.ts';
import { recordSecret } from '../harness/evidence.ts';
import { startTestService, temporaryFolder, testDatabase } from '../harness/service.ts';
import { startAgent } from './agent-requests.ts';
import { backup } from './database.ts';
import { folderServer } from './folder-driver.ts';

const TOKEN = 'agent-hold-0123456789-0123456789abcdef';
const WAIT = { timeout: 120_000, interval: 50 };

/** Creates the name server `ns1` and the token of its agent. Returns the id. */
async function createServer(service: Client, tokenFile: string): Promise<string> {
  const address = { driver: 'bind', address: '192.0.2.53', delivery: 'agent' };
  const { body } = await service.post('/v2/nameservers', {
    name: 'ns1',
    pool_id: DEFAULT_POOL,
    ...address,
  });
  const id = String(body.id);
  const members = { roles: ['nameserver-agent'], nameservers: [id] };
  const token = await service.post('/v2/tokens', { name: 'agent', ...members });
  writeFileSync(tokenFile, String(token.body.token));
  return id;
}

test('after the restore of an older backup, an agent keeps newer keys and adds no deleted key until delivery is resumed', async () => {
  const folder = temporaryFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = folderServer(join(folder, 'server'));
  const tokenFile = join(folder, 'token');
  const database = await testDatabase(folder);

  /** Runs a service and the agent. Returns a function that stops both. */
  const serve = async (url: string, prepare?: (service: Client) => Promise<unknown>) => {
    const variables = { TSIGIL_DATABASE_URL: url, TSIGIL_ADMIN_TOKEN: TOKEN };
    const service = await startTestService(variables, { folder });
    await prepare?.(service);
    const stopAgent = startAgent(service.url, tokenFile, server);
    const stop = async () => {
      await stopAgent();
      await service.close();
    };
    return { service, stop };
  };
  const expectDelivered = (service: Client, id: string) =>
    expect.poll(async () => (await deliveries(service, id)).state, WAIT).toBe('delivered');

  let { service, stop } = await serve(database, (client) => createServer(client, tokenFile));
  const stays = await createKey(service, 'stays');
  const revoked = await createKey(service, 'revoked');
  for (const { id } of [stays, revoked]) await expectDelivered(service, id);
  await stop();
  const restored = await backup(database, folder);

  ({ service, stop } = await serve(database));
  const newer = await createKey(service, 'newer');
  await service.delete(`/v2/tsigkeys/${revoked.id}`);
  await expectDelivered(service, newer.id);
  await expect.poll(() => Object.keys(server.keys()).sort(), WAIT).toEqual(['newer', 'stays']);
  await stop();

  ({ service, stop } = await serve(restored));
  const stateOf = async () => (await shownServer(service)).state;
  await expect.poll(stateOf, WAIT).toBe('held');
  expect(await shownServer(service)).toMatchObject({
    held: { added_keys: ['revoked'], removed_keys: ['newer'], changed_keys: [] },
  });
  expect((await deliveries(service, revoked.id)).state).toBe('held');
  const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
  const status = await tsigil(folder, variables, 'tsigkey', 'status', 'revoked');
  expect([status.status, status.err]).toEqual([
    1,
    expect.stringMatching(/Run 'tsigil delivery resume' to .*\.\n$/),
  ]);
  const since = await createKey(service, 'since');
  await expectDelivered(service, since.id);
  await service.delete(`/v2/tsigkeys/${stays.id}`);
  await expect.poll(() => Object.keys(server.keys()).sort(), WAIT).toEqual(['newer', 'since']);
  expect(await stateOf()).toBe('held');
  const resumed = await service.post('/v2/deliveries/resume', {});
  expect(resumed.body).toEqual({ resumed: ['ns1'] });
  await expect.poll(stateOf, WAIT).toBe('live');
  expect(Object.keys(server.keys()).sort()).toEqual(['revoked', 'since']);
  await stop();
}, 300_000);

test('while a change of the pool is blocked, an agent removes deleted keys and former secrets, and leaves the others', async () => {
  const folder = temporaryFolder();
  const server = folderServer(join(folder, 'server'));
  const service = await startTestService();
  const id = await createServer(service, join(folder, 'token'));
  const names = Array.from({ length: 12 }, (_, index) => `k${10 + index}`);
  const keys = [];
  for (const name of names) keys.push(await createKey(service, name));
  const stop = startAgent(service.url, join(folder, 'token'), server);
  onTestFinished(async () => {
    await stop();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const state = async () => (await shownServer(service)).state;
  await expect.poll(state, WAIT).toBe('live');
  const pool = await service.post('/v2/pools', { name: 'empty' });
  const moved = await service.patch(`/v2/nameservers/${id}`, { pool_id: pool.body.id });
  expect(moved.status).toBe(200);
  await expect.poll(state, WAIT).toBe('blocked');
  expect(Object.keys(server.keys()).sort()).toEqual(names);
  const [deleted, replaced] = keys as [CreatedKey, CreatedKey];
  expect((await service.delete(`/v2/tsigkeys/${deleted.id}`)).status).toBe(204);
  await expect.poll(() => Object.keys(server.keys()).sort(), WAIT).toEqual(names.slice(1));
  const secret = randomBytes(32).toString('base64');
  recordSecret(secret);
  await service.patch(`/v2/tsigkeys/${replaced.id}`, { secret });
  const hasFormer = () => server.keys().k11 === 1;
  await expect.poll(hasFormer, WAIT).toBe(false);
  expect(Object.keys(server.keys()).sort()).toEqual(names.slice(2));
  expect(await state()).toBe('blocked');

  await service.post(`/v2/nameservers/${id}/reconcile`, { confirm: true });
  await expect.poll(state, WAIT).toBe('live');
  expect(server.keys()).toEqual({});
}, 90_000);
