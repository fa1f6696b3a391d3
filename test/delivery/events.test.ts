import { beforeAll, describe, expect, test } from 'vitest';
import { bind as brand } from '../harness/brands/bind.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  untilLive,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.runIf(brand.isInstalled())('deliveries in the audit trail', () => {
  let bind: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    bind = await startDeliveryServer(brand);
    service = await startTestService(delivering(bind));
    await createZones(service);
    await untilLive(service);
  });
  const events = async (name: string) => {
    const { body } = await service.get(
      `/v2/audit?resource_type=tsigkeys&resource_name=${name}&limit=max`,
    );
    return (
      body.records as { actor_kind: string; action: string; detail: Record<string, unknown> }[]
    )
      .filter(({ actor_kind: kind }) => kind === 'service')
      .map(({ action, detail }) => [action, detail])
      .toReversed();
  };

  test('one record for each version of a key on a name server, and for its removal, but none for a pass that changes nothing', async () => {
    const { id } = await createKey(service, 'Recorded.example.');
    expect(await deliveries(service, id)).toMatchObject({ state: 'delivered' });
    const delivered = (version: number) => ['tsigkeys:deliver', { name_server: 'ns1', version }];
    expect(await events('recorded.example')).toEqual([delivered(1)]);
    const server = await shownServer(service);
    for (let pass = 0; pass < 2; pass += 1) {
      const { verified_at: before } = await shownServer(service);
      await service.post(`/v2/nameservers/${server.id}/reconcile`, {});
      await expect.poll(async () => (await shownServer(service)).verified_at).not.toBe(before);
    }
    await bind.stop();
    await service.post(`/v2/nameservers/${server.id}/reconcile`, {});
    await expect.poll(async () => (await shownServer(service)).state).toBe('failed');
    await bind.start();
    await service.post(`/v2/nameservers/${server.id}/reconcile`, {});
    await untilLive(service);
    expect(await events('recorded.example')).toEqual([delivered(1)]);
    await service.patch(`/v2/tsigkeys/${id}`, { secret: 'bmV3IHNlY3JldA==' });
    expect(await deliveries(service, id)).toMatchObject({ state: 'delivered', version: 2 });
    await service.delete(`/v2/tsigkeys/${id}`);
    await expect
      .poll(() => events('recorded.example'))
      .toEqual([delivered(1), delivered(2), ['tsigkeys:remove', { name_server: 'ns1' }]]);
  });

  test('one record of who confirmed a removal, and none of a pass that confirms nothing', async () => {
    const { id } = await shownServer(service);
    for (const confirm of [false, true])
      await service.post(`/v2/nameservers/${id}/reconcile`, { confirm });
    const { body } = await service.get('/v2/audit?action=nameservers:reconcile');
    expect(body.records).toMatchObject([
      { actor_name: 'admin', resource_id: id, resource_name: 'ns1', detail: { confirm: true } },
    ]);
  });

  test('one record for each key that leaves a name server with its pool', async () => {
    const ofPool = await createKey(service, 'pool.example.');
    const ofZone = await createKey(service, 'zone.example.', await inZone(service, 'a.test'));
    for (const { id } of [ofPool, ofZone])
      expect(await deliveries(service, id)).toMatchObject({ state: 'delivered' });
    const pool = await service.post('/v2/pools', { name: 'other' });
    const { id } = await shownServer(service);
    expect((await service.patch(`/v2/nameservers/${id}`, { pool_id: pool.body.id })).status).toBe(
      200,
    );
    const removed = ['tsigkeys:remove', { name_server: 'ns1' }];
    for (const name of ['pool.example', 'zone.example'])
      await expect.poll(() => events(name)).toEqual([expect.anything(), removed]);
  });
});
