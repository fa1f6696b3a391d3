import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll,describe,expect,test } from 'vitest';
import { agentProcess,createAgent,type TestAgent } from '../harness/agent.ts';
import { bind } from '../harness/brands/bind.ts';
import {
createKey,
createZones,
deliveries,
startDeliveryServer,
untilLive,
verdictOf,
type DeliveryServer,
} from '../harness/delivery.ts';
import { startServiceProcess,temporaryFolder,type ServiceProcess } from '../harness/service.ts';

describe.runIf(bind.isInstalled())('agents of one name server on hosts with the same name', () => {
  const [folder, otherHost] = [temporaryFolder(), temporaryFolder()];
  let server: DeliveryServer;
  let service: ServiceProcess;
  let agent: TestAgent;
  const others: TestAgent[] = [];

  beforeAll(async () => {
    server = await startDeliveryServer(bind);
    service = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: 'sqlite:t.db' });
    await createZones(service);
    agent = await createAgent(service, server);
    agent.start();
    await untilLive(service);
  });

  const nameOf = ({ output }: TestAgent) =>
    [...output().matchAll(/"agent":"(test-host-\w+)"/g)].at(-1)?.[1] ?? '';
  const delivered = async (name: string) => {
    const key = await createKey(service, name);
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    expect(await verdictOf(server, key)).toBe('good');
  };

  test('a second agent gets 409 with the name of the first agent, even if both have the same configuration file', async () => {
    const config = join(otherHost, 'agent.yaml');
    copyFileSync(agent.config, config);
    others.push(agentProcess({ ...agent, config }), agentProcess(agent));
    for (const other of others) {
      other.start();
      await expect
        .poll(() => other.output())
        .toContain(`'${nameOf(agent)}' holds the lease of the name server`);
    }
    expect(new Set([agent, ...others].map(nameOf)).size).toBe(3);
    await delivered('with-the-first');
    expect(agent.output()).not.toContain('refuses');
    await others[1]?.stop('SIGTERM');
  });

  test('after kill -9, an agent or its successor delivers again once the lease has expired', async () => {
    await others[0]?.stop('SIGTERM');
    for (let round = 0; round < 2; round += 1) {
      await agent.stop('SIGKILL');
      agent.start();
      await delivered(`restart-${round}`);
    }
    others[0]?.start();
    await expect.poll(() => others[0]?.output()).toContain('holds the lease of the name server');
  });

  test('the second agent takes over from an agent that is suspended during a pass, and records the delivery', async () => {
    server.signal('SIGSTOP');
    const key = await createKey(service, 'taken-over');
    await pause(1500); // the pass has begun and waits for BIND
    process.kill(agent.pid(), 'SIGSTOP');
    server.signal('SIGCONT');
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    await expect.poll(() => others[0]?.output()).toContain('Delivered keys');
    agent.continue();
    await expect
      .poll(() => agent.output())
      .toContain(`'${nameOf(others[0] ?? agent)}' holds the lease of the name server`);
    await delivered('with-the-second');
  });
});
