import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runInside } from '../cli/session.ts';
import { bind as brand } from '../harness/brands/bind.ts';
import { delivering, startDeliveryServer, type DeliveryServer } from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.runIf(brand.isInstalled())('deleted keys that are still on a name server', () => {
  let bind: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    bind = await startDeliveryServer(brand);
    service = await startTestService(delivering(bind));
  });
  afterAll(async () => {
    await service.close();
    await bind.remove();
  });

  const removing = async () => {
    const { status, body } = await service.get('/v2/deliveries?state=removing');
    expect(status).toBe(200);
    return (body as { deliveries: Record<string, unknown>[] }).deliveries;
  };
  const show = async () => {
    const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
    return runInside({ variables }, 'nameserver', 'show', 'ns1');
  };

  test('200 with a deleted key until the name server refuses the key, then without the key', async () => {
    const created = await service.post('/v2/tsigkeys', {
      name: 'Leaving.',
      algorithm: 'hmac-sha256',
      scope: 'POOL',
      resource_id: '794ccc2c-d751-44fe-b57f-8894c9f5c842',
    });
    const { id } = created.body as { id: string };
    const found = await service.get(`/v2/tsigkeys/${id}/deliveries?wait=20`);
    expect(found.body).toMatchObject({ state: 'delivered' });
    expect(await removing()).toEqual([]);
    const list = (await service.get('/v2/nameservers')).body as { nameservers: { id: string }[] };
    const path = `/v2/nameservers/${list.nameservers[0]?.id}`;
    expect((await service.patch(path, { paused: true })).status).toBe(200);
    await service.patch(`/v2/tsigkeys/${id}`, { secret: 'bmV3IHNlY3JldA==' });
    const began = performance.now();
    expect((await service.get(`/v2/tsigkeys/${id}/deliveries?wait=20`)).body).toMatchObject({
      state: 'paused',
      servers: [{ error: { code: 'paused', message: expect.stringContaining('ns1') as string } }],
    });
    expect(performance.now() - began).toBeLessThan(10_000);
    expect((await service.delete(`/v2/tsigkeys/${id}`)).status).toBe(204);
    expect(await removing()).toEqual([
      {
        name_server: 'ns1',
        key_id: id,
        key_name: 'leaving',
        state: 'removing',
        delivered_version: 1,
        error: null,
      },
    ]);
    expect(await show()).toMatchObject({
      status: 0,
      err: 'Deleted keys that are still on the name server: leaving\n',
    });
    expect((await service.patch(path, { paused: false })).status).toBe(200);
    await expect.poll(removing).toEqual([]);
    expect(await show()).toMatchObject({ status: 0, err: '' });
  });

  test.each(['', '?state=delivered'])('400 for a state other than removing: %j', async (query) => {
    expect((await service.get(`/v2/deliveries${query}`)).status).toBe(400);
  });
});
