import { randomBytes } from 'node:crypto';
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
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { ZONES } from '../harness/driven-server.ts';
import { recordSecret } from '../harness/evidence.ts';
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

  test('the server accepts the former or the new secret at any time while the secret changes', async () => {
    let key = await createKey(service, 'rotated');
    await deliveries(service, key.id);
    for (let round = 0; round < 3; round += 1) {
      const secret = randomBytes(32).toString('base64');
      recordSecret(secret);
      const [former, next] = [key, { ...key, secret }];
      const stop = new AbortController();
      const gaps: string[] = [];
      const watch = (async () => {
        while (!stop.signal.aborted) {
          const verdicts: string[] = [];
          // Each secret is tried twice, because the server can switch between two requests.
          for (const each of [former, next, former, next])
            verdicts.push(await verdictOf(server, each));
          if (!verdicts.includes('good')) gaps.push(verdicts.join(', '));
        }
      })();
      await service.patch(`/v2/tsigkeys/${key.id}`, { secret });
      expect((await deliveries(service, key.id)).state).toBe('delivered');
      stop.abort();
      await watch;
      expect(gaps).toEqual([]);
      expect(await verdictOf(server, next)).toBe('good');
      // PowerDNS rejects a wrong secret without a reason.
      expect(['wrong secret', 'rejected']).toContain(await verdictOf(server, former));
      key = next;
    }
  });

  test('a server that lacks a key is live without it, the key states why, and check names it', async () => {
    const { keys_wanted: before, id } = await shownServer(service);
    const taken = await createKey(service, brand.foreign);
    expect(await deliveries(service, taken.id)).toMatchObject({
      state: 'undeliverable',
      servers: [{ error: { code: 'name_taken' } }],
    });
    const other = await createKey(service, 'beside-taken');
    expect((await deliveries(service, other.id)).state).toBe('delivered');
    const lacking = await shownServer(service);
    expect(lacking).toMatchObject({ state: 'live', error_code: null, attempts: 0 });
    expect([lacking.keys_wanted - before, lacking.keys_live]).toEqual([2, lacking.keys_wanted - 1]);
    const { body } = await service.get(`/v2/nameservers/${id}/check`);
    expect(body).toMatchObject({
      requirements: expect.arrayContaining([
        expect.objectContaining({ ok: false, problem: expect.stringContaining(brand.foreign) }),
      ]),
    });
    for (const key of [taken, other]) await service.delete(`/v2/tsigkeys/${key.id}`);
    await expect
      .poll(() => shownServer(service), { timeout: 120_000 })
      .toMatchObject({ state: 'live', keys_live: before, keys_wanted: before });
  });

  test('the server gets the usable keys only, and refuses unsigned requests after the last key is deleted', async () => {
    const bad = [
      await createKey(service, 'no-base64', { secret: 'no base64!' }),
      await createKey(service, 'no domain name'),
      await createKey(service, brand.foreign),
    ];
    const good = await createKey(service, 'good');
    expect((await deliveries(service, good.id)).state).toBe('delivered');
    await untilKey(server, good, true);
    for (const { id } of bad) expect((await deliveries(service, id)).state).toBe('undeliverable');
    expect(await shownServer(service)).toMatchObject({ state: 'live', error: null });
    for (const { id } of [...bad, good]) await service.delete(`/v2/tsigkeys/${id}`);
    const { body } = await service.get('/v2/tsigkeys');
    for (const { id } of (body as { tsigkeys: CreatedKey[] }).tsigkeys)
      await service.delete(`/v2/tsigkeys/${id}`);
    await untilKey(server, good, false);
    for (const zone of ZONES)
      expect(await findOpenRights({ server: server.address, zone })).toEqual([]);
    await server.stop();
    await server.start();
    for (const zone of ZONES)
      expect(await findOpenRights({ server: server.address, zone })).toEqual([]);
  });

  test('a service that starts again reports no drift on a server that no one changed', async () => {
    for (let start = 0; start < 3; start += 1) {
      await service.close();
      service = await startTestService(delivering(server), { folder: service.folder });
      const { verified_at: before } = await shownServer(service);
      await expect
        .poll(async () => (await shownServer(service)).verified_at, { timeout: 120_000 })
        .not.toBe(before);
      expect(await shownServer(service)).toMatchObject({ state: 'live', error: null });
      expect(service.log.join('')).not.toContain('Another program changed');
    }
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
