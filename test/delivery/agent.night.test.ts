import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { createAgent, type TestAgent } from '../harness/agent.ts';
import { bind } from '../harness/brands/bind.ts';
import { freePort } from '../harness/connections.ts';
import {
  createKey,
  createZones,
  deliveries,
  shownServer,
  startDeliveryServer,
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { listeningPorts } from '../harness/process-state.ts';
import { startServiceProcess, temporaryFolder, type ServiceProcess } from '../harness/service.ts';

describe.runIf(bind.isInstalled())('an agent with a BIND server', () => {
  let server: DeliveryServer;
  let service: ServiceProcess;
  let agent: TestAgent;
  let port = 0;
  const folder = temporaryFolder();

  const startService = async (variables: Record<string, string> = {}) => {
    service = await startServiceProcess(folder, {
      TSIGIL_DATABASE_URL: 'sqlite:t.db',
      TSIGIL_LISTEN: `127.0.0.1:${port}`,
      ...variables,
    });
  };

  beforeAll(async () => {
    server = await startDeliveryServer(bind);
    port = await freePort(); // the agent connects to it while nothing listens
    await startService();
    await createZones(service);
    agent = await createAgent(service, server);
    agent.start();
  });

  const remove = ({ id }: CreatedKey) => service.delete(`/v2/tsigkeys/${id}`);
  const verdict = (key: CreatedKey) => verdictOf(server, key);

  test('an agent removes a key that was deleted while the agent did not run', async () => {
    const [kept, removed] = [await createKey(service, 'kept'), await createKey(service, 'removed')];
    for (const { id } of [kept, removed])
      expect((await deliveries(service, id)).state).toBe('delivered');
    expect(await agent.stop('SIGTERM')).toBe(0);
    expect(agent.output()).toContain('agent stopped');
    await remove(removed);
    const added = await createKey(service, 'added');
    expect(await verdict(removed)).toBe('good');
    agent.start();
    expect((await deliveries(service, added.id)).state).toBe('delivered');
    expect([await verdict(kept), await verdict(removed)]).toEqual(['good', 'unknown key']);
    await expect.poll(async () => (await shownServer(service)).state).toBe('live');
  });

  test('the agent repairs the name server while the service is down, and applies changes when the service runs again', async () => {
    const key = await createKey(service, 'survivor');
    const gone = await createKey(service, 'gone');
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    await service.stop('SIGKILL');
    const file = join(server.folder, 'keys', 'tsigil.conf');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('survivor', 'edited'));
    await expect.poll(() => readFileSync(file, 'utf8')).not.toContain('edited');
    await expect.poll(() => verdict(key)).toBe('good');
    expect(agent.output()).toContain('The service does not respond');
    await startService({ TSIGIL_ADMIN_TOKEN: service.token });
    await remove(gone);
    await expect.poll(() => verdict(gone)).toBe('unknown key');
    expect(await verdict(key)).toBe('good');
  });

  test('after kill -9 of the agent at random times, the name server accepts all keys, even after a restart', async () => {
    const keys = new Map<string, CreatedKey>();
    for (let round = 0; round < 6; round += 1) {
      const created = await createKey(service, `kill-${round}`);
      keys.set(created.id, created);
      const [oldest] = keys.values();
      if (oldest !== undefined && keys.size > 3) {
        keys.delete(oldest.id);
        await remove(oldest);
      }
      await pause(randomInt(250));
      await agent.stop('SIGKILL');
      agent.start();
      if (round % 2 === 0) continue;
      for (const { id } of keys.values())
        expect((await deliveries(service, id)).state).toBe('delivered');
    }
    await expect.poll(async () => (await shownServer(service)).state).toBe('live');
    for (const key of keys.values()) expect(await verdict(key)).toBe('good');
    await server.stop();
    await server.start();
    for (const key of keys.values()) expect(await verdict(key)).toBe('good');
  }, 240_000);

  test('the agent delivers no key with a revoked token, and continues with a new token in its file', async () => {
    const { body } = await service.get('/v2/tokens?name=agent-*');
    const { id } = (body as { tokens: { id: string }[] }).tokens[0] ?? { id: '' };
    await service.delete(`/v2/tokens/${id}`);
    const key = await createKey(service, 'later');
    await expect.poll(() => agent.output()).toContain('refuses');
    const members = { roles: ['nameserver-agent'], nameservers: [agent.id] };
    const created = await service.post('/v2/tokens', { name: 'agent-new', ...members });
    writeFileSync(agent.tokenFile, String(created.body.token));
    await expect.poll(async () => (await deliveries(service, key.id)).state).toBe('delivered');
  });

  test('the agent listens on no port, and its output contains no secret and no token', () => {
    expect(agent.output()).toContain('Delivered keys to a name server');
    expect(listeningPorts(agent.pid())).toEqual([]);
    expect(agent.output()).not.toContain(readFileSync(agent.tokenFile, 'utf8').trim());
    expect(agent.output()).not.toMatch(/"secret"/);
  });
});
