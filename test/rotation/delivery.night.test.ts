import { describe, expect, onTestFinished, test } from 'vitest';
import { bind } from '../harness/brands/bind.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  type CreatedKey,
} from '../harness/delivery.ts';
import { startTestService } from '../harness/service.ts';
import { lifecycleOf, take, untilPass } from './lifecycles.ts';

describe.runIf(bind.isInstalled())('a rotation on BIND', () => {
  test('the time of retirement stays empty while the name server is down', async () => {
    const server = await startDeliveryServer(bind);
    const service = await startTestService(delivering(server), {
      rotations: { intervalMs: 100, pollMs: 100, windowMs: 5000 },
    });
    onTestFinished(() => service.close());
    await createZones(service);
    await untilLive(service);
    const key = await createKey(service, 'spread');
    await deliveries(service, key.id);
    await server.stop();
    const request = { overlap_seconds: 0, retire: 'automatic' };
    const next = (await take(service, key.id, 'rotate', request)) as CreatedKey;
    await service.post(`/v2/nameservers/${(await shownServer(service)).id}/reconcile`, {});
    await expect.poll(async () => (await shownServer(service)).state).toBe('failed');
    expect((await lifecycleOf(service, key.id))[0]).toMatchObject({
      state: 'spreading',
      verified_at: null,
      retire_at: null,
    });
    const refused = await service.post(`/v2/tsigkeys/${key.id}/retire`, undefined);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain(`not every name server accepts '${next.name}': ns1.`);
    await server.start();
    await untilPass(service, async () => {
      expect((await lifecycleOf(service, key.id))[0]).toMatchObject({ state: 'retired' });
    });
  });
});
