import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findOpenRights, verifyExpectations } from '../../src/net/probe.ts';
import { createAgent } from '../harness/agent.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const INSTALLED = BRANDS.filter((brand) => brand.isInstalled());

/**
 * Waits until a name server accepts or refuses each right of a key. Sends requests only to the name
 * server, not to the API.
 */
async function untilKey(server: DeliveryServer, key: CreatedKey, accepted: boolean) {
  const expectations = server.rights.map((check) => ({ key, check, zone: 'a.test', accepted }));
  const soon = AbortSignal.timeout(60_000);
  for (;;) {
    const outcomes = await verifyExpectations(server.address, expectations, Date.now, soon);
    if (outcomes.every(({ met }) => met)) return;
    expect(soon.aborted).toBe(false);
  }
}

describe.each(INSTALLED)('a service with a $name server', (brand) => {
  let server: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    server = await startDeliveryServer(brand);
    service = await startTestService(delivering(server));
    await createZones(service);
  });
  afterAll(async () => {
    await service.close();
    await server.remove();
  });

  test.each(['POOL', 'ZONE'])(
    'the server accepts a new key and refuses a deleted key: scope %s',
    async (scope) => {
      const more = scope === 'POOL' ? {} : await inZone(service, 'a.test');
      for (let round = 0; round < 5; round += 1) {
        const key = await createKey(service, `${scope.toLowerCase()}-${round}`, more);
        const { state } = await deliveries(service, key.id);
        expect(state).toBe('delivered');
        await untilKey(server, key, true);
        await service.delete(`/v2/tsigkeys/${key.id}`);
        await untilKey(server, key, false);
      }
      expect(await findOpenRights({ server: server.address, zone: 'a.test' })).toEqual([]);
    },
  );

  test('the server refuses the former name of a renamed key, even without grants', async () => {
    for (const grants of [null, []]) {
      const key = await createKey(service, 'former-name', { grants });
      expect((await deliveries(service, key.id)).state).toBe('delivered');
      const path = `/v2/tsigkeys/${key.id}`;
      expect((await service.patch(path, { name: 'later-name' })).status).toBe(200);
      expect((await deliveries(service, key.id)).state).toBe('delivered');
      // Another key gets the former name, and thereby shows whether the server still has it.
      const other = await createKey(service, 'former-name');
      expect((await deliveries(service, other.id)).state).toBe('delivered');
      await untilKey(server, key, false);
      await untilKey(server, other, true);
      await untilKey(server, { ...key, name: 'later-name' }, grants === null);
      for (const { id } of [key, other]) await service.delete(`/v2/tsigkeys/${id}`);
      for (const each of [{ ...key, name: 'later-name' }, key, other])
        await untilKey(server, each, false);
    }
  });

  test('a server that lacks a key is live without it, the key states why, and check names it', async () => {
    const { id } = await shownServer(service);
    const isEmpty = { state: 'live', keys_live: 0, keys_wanted: 0 };
    await expect.poll(() => shownServer(service), { timeout: 120_000 }).toMatchObject(isEmpty);
    const taken = await createKey(service, brand.foreign);
    expect(await deliveries(service, taken.id)).toMatchObject({
      state: 'undeliverable',
      servers: [{ error: { code: 'name_taken' } }],
    });
    const other = await createKey(service, 'beside-taken');
    expect((await deliveries(service, other.id)).state).toBe('delivered');
    expect(await shownServer(service)).toMatchObject({
      state: 'live',
      error_code: null,
      attempts: 0,
      keys_wanted: 2,
      keys_live: 1,
    });
    const { body } = await service.get(`/v2/nameservers/${id}/check`);
    expect(body).toMatchObject({
      requirements: expect.arrayContaining([
        expect.objectContaining({ ok: false, problem: expect.stringContaining(brand.foreign) }),
      ]),
    });
    for (const key of [taken, other]) await service.delete(`/v2/tsigkeys/${key.id}`);
    await expect.poll(() => shownServer(service), { timeout: 120_000 }).toMatchObject(isEmpty);
  });
});

test.each(INSTALLED)(
  'an agent makes a $name server accept a new key and refuse a deleted key',
  async (brand) => {
    const server = await startDeliveryServer(brand);
    const service = await startTestService();
    await createZones(service);
    const agent = await createAgent(service, server);
    agent.start();
    onTestFinished(async () => {
      await agent.stop('SIGTERM');
      await service.close();
      await server.remove();
    });
    const key = await createKey(service, 'by-agent');
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    await untilKey(server, key, true);
    await service.delete(`/v2/tsigkeys/${key.id}`);
    await untilKey(server, key, false);
    expect(await findOpenRights({ server: server.address, zone: 'a.test' })).toEqual([]);
  },
);
