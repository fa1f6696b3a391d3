import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { recordSecret } from '../harness/evidence.ts';
import {
  startTestService,
  temporaryFolder,
  testDatabase,
  type TestService,
} from '../harness/service.ts';
import { backup } from './database.ts';

const TOKEN = 'restore-delivery-0123456789-0123456789abcdef';

/** How long a change may take on a busy machine. */
const WAIT = { timeout: 120_000, interval: 50 };

const brands = BRANDS.filter((brand) => brand.isInstalled());

describe.runIf(brands.length > 0)('after the restore of an older backup', () => {
  test.each(brands)(
    '$name keeps its newer keys and refuses deleted keys until delivery is resumed',
    async (brand) => {
      const folder = temporaryFolder();
      const server = await startDeliveryServer(brand);
      onTestFinished(() => server.remove());
      const database = await testDatabase(folder);
      const serve = (url: string) =>
        startTestService(
          { ...delivering(server), TSIGIL_DATABASE_URL: url, TSIGIL_ADMIN_TOKEN: TOKEN },
          { folder },
        );
      const shown = (service: TestService) => shownServer(service);
      const isPowerdns = brand.driver === 'powerdns';

      let service = await serve(database);
      await createZones(service);
      const stays = await createKey(service, 'stays');
      const before = await createKey(service, 'changes');
      const revoked = await createKey(service, 'revoked');
      const local = await createKey(service, 'local', await inZone(service, 'a.test'));
      for (const { id } of [stays, before, revoked, local]) await expectDelivered(service, id);
      await service.close();
      const restored = await backup(database, folder);

      service = await serve(database);
      const newer = await createKey(service, 'newer');
      const newerLocal = await createKey(service, 'newer-local', await inZone(service, 'b.test'));
      await service.delete(`/v2/tsigkeys/${revoked.id}`);
      const after = await withNewSecret(service, before);
      const moved = await service.patch(
        `/v2/tsigkeys/${local.id}`,
        await inZone(service, 'b.test'),
      );
      expect(moved.status).toBe(200);
      for (const { id } of [newer, newerLocal, after, local]) await expectDelivered(service, id);
      await vi.waitFor(async () => expect(await works(server, revoked)).toBe(false), WAIT);
      await service.close();

      service = await serve(restored);
      await vi.waitFor(async () => expect((await shown(service)).state).toBe('held'), WAIT);
      const others = isPowerdns ? [] : ['newer', 'newer-local'];
      expect(await shown(service)).toMatchObject({
        error_code: 'held',
        error: expect.stringContaining('tsigil delivery resume --nameserver ns1') as string,
        held: {
          added: 1,
          added_keys: ['revoked'],
          removed: others.length,
          removed_keys: others,
          changed: 2,
          changed_keys: ['changes', 'local'],
        },
        unknown_keys: isPowerdns ? [brand.foreign, 'newer', 'newer-local'] : [],
      });
      const expectHeld = async () => {
        expect(await works(server, newer)).toBe(true);
        expect(await works(server, newerLocal, 'b.test')).toBe(true);
        expect(await works(server, newerLocal, 'a.test')).toBe(false);
        expect(await works(server, after)).toBe(true);
        expect(await works(server, before)).toBe(false);
        expect(await works(server, revoked)).toBe(false);
        expect(await works(server, local, 'a.test')).toBe(false);
        expect(await works(server, local, 'b.test')).toBe(true);
      };
      await expectHeld();
      expect(await works(server, stays)).toBe(true);
      for (const { id } of [revoked, before, local])
        expect(await deliveries(service, id)).toMatchObject({
          state: 'held',
          servers: [{ state: 'held', delivered_version: 0, error: { code: 'held' } }],
        });
      expect(service.log.join()).toContain('Delivery to a name server is held');
      const metrics = (await service.get('/metrics')).text;
      expect(metrics).toContain('tsigil_name_server_state{name_server="ns1",state="held"} 1');
      expect(metrics).toContain('tsigil_delivery_held_keys{name_server="ns1",change="changed"} 2');

      // Every later change is delivered.
      await service.delete(`/v2/tsigkeys/${stays.id}`);
      await vi.waitFor(async () => expect(await works(server, stays)).toBe(false), WAIT);
      const since = await createKey(service, 'since');
      await expectDelivered(service, since.id);
      expect(await works(server, since)).toBe(true);
      await expectHeld();
      await service.close();

      // The hold survives a restart, and so do the changes.
      service = await serve(restored);
      await service.post(`/v2/nameservers/${(await shown(service)).id}/reconcile`, {});
      await vi.waitFor(async () => expect((await shown(service)).state).toBe('held'), WAIT);
      expect(await works(server, since)).toBe(true);
      await expectHeld();
      const latest = await withNewSecret(service, before);
      await expectDelivered(service, latest.id);
      expect([await works(server, latest), await works(server, after)]).toEqual([true, false]);
      await service.delete(`/v2/tsigkeys/${latest.id}`);
      await vi.waitFor(async () => expect(await works(server, latest)).toBe(false), WAIT);

      const resumed = await service.post('/v2/deliveries/resume', {});
      expect([resumed.status, resumed.body]).toEqual([200, { resumed: ['ns1'] }]);
      const audit = await service.get('/v2/audit?action=nameservers:resume');
      expect(audit.body.records).toMatchObject([
        { detail: { name_servers: [{ name: 'ns1', removed_keys: others }] } },
      ]);
      await untilLive(service);
      expect(await shown(service)).toMatchObject({ held: null, error: null });
      expect(await works(server, revoked)).toBe(true);
      expect(await works(server, local, 'a.test')).toBe(true);
      expect(await works(server, local, 'b.test')).toBe(false);
      expect(await works(server, newer)).toBe(isPowerdns);
      expect(await works(server, since)).toBe(true);
      if (isPowerdns) await expectRemovable(service, server, newer, brand.foreign);
      await service.close();

      service = await serve(restored);
      await untilLive(service);
      expect(await works(server, since)).toBe(true);
      await service.close();
    },
    90_000,
  );
});

/** Expects that an operator can remove a key that the database lacks, and no other key. */
async function expectRemovable(
  service: TestService,
  server: DeliveryServer,
  key: CreatedKey,
  foreign: string,
): Promise<void> {
  const { id } = await shownServer(service);
  const { body } = await service.get(`/v2/nameservers/${id}/check`);
  expect(JSON.stringify(body)).toContain(`The database lacks: ${foreign}, newer, newer-local.`);
  const remove = (name: string, headers?: Record<string, string>) =>
    service.call('POST', `/v2/nameservers/${id}/remove-key`, { name }, headers);
  expect((await remove('since')).status).toBe(400);
  const refused = await remove(key.name);
  expect([refused.status, refused.body.type]).toEqual([409, 'key_is_referenced']);
  expect((await remove(key.name, { 'tsigil-force': 'true' })).status).toBe(200);
  await vi.waitFor(async () => expect(await works(server, key)).toBe(false), WAIT);
  expect(await shownServer(service)).toMatchObject({ unknown_keys: [foreign, 'newer-local'] });
}

/** Waits until a key is delivered. NSD may refuse a query while it reloads. */
async function expectDelivered(service: TestService, id: string): Promise<void> {
  const delivered = () => deliveries(service, id);
  await vi.waitFor(
    async () => expect(await delivered()).toMatchObject({ state: 'delivered' }),
    WAIT,
  );
}

/** Changes the secret of a key, and returns the key with the new secret. */
async function withNewSecret(service: TestService, key: CreatedKey): Promise<CreatedKey> {
  const secret = randomBytes(32).toString('base64');
  recordSecret(secret);
  const { status } = await service.patch(`/v2/tsigkeys/${key.id}`, { secret });
  expect(status).toBe(200);
  return { ...key, secret };
}

/** Returns whether a name server accepts a key for transfers of a zone. Asks until it responds. */
async function works(server: DeliveryServer, key: CreatedKey, zone = 'a.test'): Promise<boolean> {
  for (;;) {
    const verdict = await verdictOf(server, key, { zone });
    if (verdict !== 'no response') return verdict === 'good';
  }
}
