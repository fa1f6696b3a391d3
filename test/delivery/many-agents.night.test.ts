import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runAgent } from '../../src/nameservers/agents/agent.ts';
import { linkTo } from '../../src/nameservers/agents/service-link.ts';
import { createKey, DEFAULT_POOL, deliveries } from '../harness/delivery.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { folderServer } from './folder-driver.ts';

test('20 agents of one service get and verify each change', async () => {
  const count = 20;
  const folder = temporaryFolder();
  const service = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: 'sqlite:t.db' });
  const stops: AbortController[] = [];
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const running: Promise<void>[] = [];
  try {
    for (let index = 0; index < count; index += 1) {
      const name = `ns-${index}`;
      const server = await service.post('/v2/nameservers', {
        name,
        pool_id: DEFAULT_POOL,
        driver: 'bind',
        address: '192.0.2.53',
        delivery: 'agent',
      });
      const members = { roles: ['nameserver-agent'], nameservers: [server.body.id as string] };
      const { body } = await service.post('/v2/tokens', { name: randomUUID(), ...members });
      const tokenFile = join(folder, `${name}.token`);
      writeFileSync(tokenFile, String(body.token));
      const { driver, verify } = folderServer(join(folder, name));
      const link = linkTo({ url: service.url, ca: undefined, tokenFile, agent: name });
      const stopping = new AbortController();
      stops.push(stopping);
      running.push(
        runAgent({
          link,
          agent: name,
          nameServer: name,
          driver: 'bind',
          verify,
          log,
          createDriver: () => driver,
          signal: stopping.signal,
          random: Math.random,
        }),
      );
    }
    for (let round = 0; round < 20; round += 1) {
      const { id } = await createKey(service, `round-${round}`);
      await expect.poll(async () => (await deliveries(service, id, 5)).state).toBe('delivered');
    }
  } finally {
    for (const stopping of stops) stopping.abort();
    await Promise.all(running);
    await service.stop('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
});
