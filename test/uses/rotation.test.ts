import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { timestampOf } from '../../src/core/text/timestamps.ts';
import { bind } from '../harness/brands/bind.ts';
import type { Client } from '../harness/client.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { hasDnsTools, isGranted } from '../harness/dns-tools.ts';
import { nightly } from '../harness/nightly.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { startAgentRequests } from '../delivery/agent-requests.ts';
import { lifecycleOf, take, untilPass } from '../rotation/lifecycles.ts';
import { logging } from './logging.ts';

async function eventsOf(client: Client, id: string): Promise<string[]> {
  const { body } = await client.get(`/v2/audit?resource_id=${id}&limit=100`);
  const actions = (body.records as { action: string }[]).map(({ action }) => action);
  return actions.filter((action) => action.startsWith('tsigkey.rotation.')).sort();
}

/** Transfers a zone with a key again and again, until the returned function is called. */
function transferAlways({ address }: DeliveryServer, key: CreatedKey): () => Promise<void> {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const transfers = (async () => {
    while (!ending.signal.aborted) {
      await isGranted(address, 'a.test', 'transfer', key);
      await pause(50);
    }
  })();
  return async () => {
    ending.abort();
    await transfers;
  };
}

describe.runIf(bind.isInstalled() && hasDnsTools())('a rotation on BIND', () => {
  let server: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    server = await startDeliveryServer(logging(bind));
    service = await startTestService(delivering(server), {
      rotations: { intervalMs: 100, pollMs: 100, windowMs: 5000 },
    });
    await createZones(service);
    await untilLive(service);
  });
  afterAll(() => service.close());

  test('no transfer fails, a forgotten client is named, and restored', async () => {
    let signing = await createKey(service, 'used');
    const [first, idle] = [signing, await createKey(service, 'idle')];
    for (const { id } of [first, idle]) await deliveries(service, id);
    const failed: string[] = [];
    const ended = new AbortController();
    const client = (async () => {
      while (!ended.signal.aborted) {
        const { name } = signing;
        if (!(await isGranted(server.address, 'a.test', 'transfer', signing))) failed.push(name);
        await pause(50);
      }
    })();
    onTestFinished(() => {
      ended.abort();
    });

    // The log has shown every use for a while.
    await untilPass(service, async () => {
      const { body } = await service.get(`/v2/tsigkeys/${first.id}/uses`);
      expect(body.servers).toMatchObject([{ state: 'seen', since: expect.any(String) }]);
    });
    const next = (await take(service, first.id, 'rotate', { overlap_seconds: 1 })) as CreatedKey;
    await expect.poll(async () => (await deliveries(service, next.id)).state).toBe('delivered');
    await untilPass(service, async () => {
      expect((await lifecycleOf(service, first.id))[0]).toMatchObject({
        state: 'switching',
        retire_at: null,
        waiting: { reason: 'unconfirmed', who: ['127.0.0.1'] },
      });
    });
    signing = next;
    // Another client on the same host goes on with the old key, which is therefore not retired.
    const stopForgotten = transferAlways(server, first);
    await untilPass(service, async () => {
      expect((await lifecycleOf(service, first.id))[0]).toMatchObject({
        state: 'draining',
        waiting: { reason: 'in_use', who: ['127.0.0.1'] },
      });
    });
    const refused = await service.post(`/v2/tsigkeys/${first.id}/retire`, undefined);
    expect([refused.status, refused.body.type]).toEqual([409, 'rotation_state']);
    await stopForgotten();
    await take(service, first.id, 'retire', undefined, true);
    await expect.poll(() => verdictOf(server, first)).not.toBe('good');
    // A use just before the retirement can be in the log of the same minute.
    await isGranted(server.address, 'a.test', 'transfer', first);
    await untilPass(service, async () => {
      expect((await lifecycleOf(service, first.id))[0]).toMatchObject({
        state: 'retired',
        used_after_retirement: { addresses: ['127.0.0.1'] },
      });
      expect(await eventsOf(service, first.id)).toContain('tsigkey.rotation.used_after_retirement');
    });
    expect(service.log.filter((line) => line.includes('A client uses a retired key'))).toHaveLength(
      1,
    );
    // It is not retired again before this client is confirmed, however long nobody uses it.
    const consumers = [{ name: 'forgotten', address: null }];
    await service.patch(`/v2/tsigkeys/${next.id}/lifecycle`, { consumers });
    await take(service, first.id, 'restore');
    await expect.poll(() => verdictOf(server, first)).toBe('good');
    expect(await verdictOf(server, next)).toBe('good');
    await untilPass(service, async () => {
      expect((await lifecycleOf(service, first.id))[0]).toMatchObject({
        state: 'switching',
        waiting: { reason: 'unconfirmed', who: ['forgotten'] },
      });
    });

    // Nobody uses this key, and the log shows it.
    const other = (await take(service, idle.id, 'rotate', { overlap_seconds: 1 })) as CreatedKey;
    await untilPass(service, async () => {
      expect((await lifecycleOf(service, idle.id))[0]).toMatchObject({ state: 'retired' });
    });
    expect(await eventsOf(service, idle.id)).toEqual(
      ['retired', 'started', 'verified'].map((event) => `tsigkey.rotation.${event}`),
    );
    expect(await verdictOf(server, other)).toBe('good');
    await expect.poll(() => verdictOf(server, idle)).not.toBe('good');

    ended.abort();
    await client;
    expect(failed).toEqual([]);
  }, 400_000);
});

nightly('a configuration that cannot be read may name the key, so the rotation waits', async () => {
  const agent = await startAgentRequests();
  const { service } = agent;
  onTestFinished(() => service.close());
  const id = await agent.createKey('k');
  const before = (days: number) => timestampOf(Date.now() - days * 86_400_000);
  const shown = ['query', 'transfer'].map((operation) => ({
    operation,
    since: before(2),
    last: before(0),
  }));
  const report = async (references: readonly object[] | null) =>
    agent.observe(await agent.desired(), {
      evidence: { problem: null, shown },
      key_references: references,
    });
  await report(null);
  await take(service, id, 'rotate', {});
  await report(null);
  const settled = async () => {
    await service.call('PATCH', `/v2/tsigkeys/${id}/lifecycle`, {});
    return (await lifecycleOf(service, id))[0];
  };
  await vi.waitFor(
    async () =>
      expect(await settled()).toMatchObject({
        state: 'switching',
        waiting: { reason: 'unknown_consumers', who: ['ns1 (its configuration cannot be read)'] },
      }),
    { timeout: 120_000 },
  );
  await report([]);
  expect(await settled()).toMatchObject({ state: 'draining', waiting: null });
});
