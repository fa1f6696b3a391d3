import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runAgent } from '../../src/nameservers/agents/agent.ts';
import { linkTo } from '../../src/nameservers/agents/service-link.ts';
import { createKey, DEFAULT_POOL, deliveries } from '../harness/delivery.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';
import { IS_TIMED } from '../harness/sizes.ts';
import { folderServer } from './folder-driver.ts';

/** Returns the CPU time and the resident memory of a process. */
function loadOf(pid: number): { readonly seconds: number; readonly megabytes: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    seconds: (Number(fields[11]) + Number(fields[12])) / 100,
    megabytes: Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024),
  };
}

test('20 or more agents of one service get and verify a change', async () => {
  const count = IS_TIMED ? 200 : 20;
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
          onDrift: 'repair',
          signal: stopping.signal,
          random: Math.random,
        }),
      );
    }
    const first = await createKey(service, 'first');
    await expect
      .poll(async () => (await deliveries(service, first.id, 5)).state, { timeout: 120_000 })
      .toBe('delivered');
    const pid = service.process.pid ?? 0;
    const before = loadOf(pid);
    const began = performance.now();
    const times: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const start = performance.now();
      const { id } = await createKey(service, `round-${round}`);
      expect((await deliveries(service, id)).state).toBe('delivered');
      times.push(performance.now() - start);
      await pause(100);
    }
    const elapsed = (performance.now() - began) / 1000;
    const after = loadOf(pid);
    times.sort((one, other) => one - other);
    const [median = 0, longest = 0] = [times[10], times.at(-1)];
    // Without waiting, so that the agents fetch and answer passes meanwhile.
    for (let round = 0; round < 30; round += 1) {
      await createKey(service, `busy-${round}`);
      await pause(50);
    }
    // The log of the service, because all agents share the process of this test.
    const creations = [
      ...service.output().matchAll(/"POST".*"\/v2\/tsigkeys".*"durationMs":([\d.]+)/g),
    ].map(([, milliseconds]) => Number(milliseconds));
    const busy = creations.slice(-30).toSorted((one, other) => one - other);
    const [usual = Infinity, slowest = Infinity] = [busy[15], busy[29]];
    process.stdout.write(
      `${count} agents: change to verified on all: median ${Math.round(median)} ms, longest of 20 ` +
        `${Math.round(longest)} ms; service: ${Math.round(((after.seconds - before.seconds) / elapsed) * 100)} % ` +
        `of a processor, ${after.megabytes} MB; creation of a key meanwhile: median ` +
        `${Math.round(usual)} ms, longest of 30 ${Math.round(slowest)} ms\n`,
    );
    if (IS_TIMED) expect(longest).toBeLessThan(2000);
    if (IS_TIMED) expect(slowest).toBeLessThan(400);
  } finally {
    for (const stopping of stops) stopping.abort();
    await Promise.all(running);
    await service.stop('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
}, 180_000);
