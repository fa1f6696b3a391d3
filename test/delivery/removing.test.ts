import { beforeAll, describe, expect, test } from 'vitest';
import { runInside } from '../cli/session.ts';
import { bind as brand } from '../harness/brands/bind.ts';
import {
  deliveries,
  delivering,
  startDeliveryServer,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

describe.runIf(brand.isInstalled())('deleted keys that are still on a name server', () => {
  let bind: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    bind = await startDeliveryServer(brand);
    service = await startTestService(delivering(bind));
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
    await expect.poll(async () => (await deliveries(service, id)).state).toBe('delivered');
    expect(await removing()).toEqual([]);
    const list = (await service.get('/v2/nameservers')).body as { nameservers: { id: string }[] };
    const path = `/v2/nameservers/${list.nameservers[0]?.id}`;
    expect((await service.patch(path, { paused: true })).status).toBe(200);
    await service.patch(`/v2/tsigkeys/${id}`, { secret: 'bmV3IHNlY3JldA==' });
    expect((await service.get(`/v2/tsigkeys/${id}/deliveries?wait=20`)).body).toMatchObject({
      state: 'paused',
      servers: [{ error: { code: 'paused', message: expect.stringContaining('ns1') as string } }],
    });
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
      err: 'Deleted keys that are still on the name server: leaving\nKeys: none\n',
    });
    expect((await service.patch(path, { paused: false })).status).toBe(200);
    await expect.poll(removing).toEqual([]);
    expect(await show()).toMatchObject({ status: 0, err: 'Keys: none\n' });
  });

  test('200 with the name servers that still have a deleted key for tokens that could see it, then 404', async () => {
    const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
    const post = async (path: string, body: object) =>
      (await service.post(path, body, { 'x-auth-sudo-project-id': 'p' })).body as {
        id: string;
        token: string;
      };
    const key = { name: 'revoked', algorithm: 'hmac-sha256', scope: 'POOL', resource_id: POOL };
    const { id } = await post('/v2/tsigkeys', key);
    const path = `/v2/tsigkeys/${id}/deliveries?wait=20`;
    await expect.poll(async () => (await deliveries(service, id)).state).toBe('delivered');
    const zone = await post('/v2/zones', { name: 'a.test.', email: 'a@a.test' });
    const other = await post('/v2/pools', { name: 'other', ns_records: [] });
    const limits = { pools: [POOL], zones: [zone.id], keys: [id] };
    const tokenLimitedTo = async (limit: object) => {
      const body = { name: JSON.stringify(limit).slice(0, 60), roles: ['admin'], ...limit };
      return (await post('/v2/tokens', body)).token;
    };
    const tokens = [];
    for (const [kind, ids] of Object.entries(limits))
      tokens.push(await tokenLimitedTo({ [kind]: ids }));
    const elsewhere = await tokenLimitedTo({ pools: [other.id] });

    await bind.stop();
    expect((await service.delete(`/v2/tsigkeys/${id}`)).status).toBe(204);
    const held = { key_id: id, servers: [{ name_server: 'ns1' }] };
    for (const token of [service.token, ...tokens]) {
      const { status, body } = await service.get(`/v2/tsigkeys/${id}/deliveries`, {
        'x-auth-token': token,
      });
      expect([status, body]).toMatchObject([200, held]);
    }
    const hidden = await service.get(`/v2/tsigkeys/${id}/deliveries`, {
      'x-auth-token': elsewhere,
    });
    expect(hidden.status).toBe(404);
    await bind.start();
    await expect.poll(async () => (await service.get(path)).status).toBe(404);
  });

  test.each(['', '?state=delivered'])('400 for a state other than removing: %j', async (query) => {
    expect((await service.get(`/v2/deliveries${query}`)).status).toBe(400);
  });
});
