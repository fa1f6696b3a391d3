import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type CreatedKey,
} from '../harness/delivery.ts';
import { recordSecret } from '../harness/evidence.ts';
import { startTestService } from '../harness/service.ts';

const brands = BRANDS.filter((brand) => brand.isInstalled());

describe.runIf(brands.length > 0)('while a change of the pool is blocked', () => {
  test.each(brands)(
    '$name refuses deleted keys and former secrets, and accepts the other keys',
    async (brand) => {
      const server = await startDeliveryServer(brand);
      const service = await startTestService(delivering(server));
      onTestFinished(async () => {
        await service.close();
        await server.remove();
      });
      await createZones(service);
      const keys: CreatedKey[] = [];
      for (let index = 0; index < 12; index += 1) keys.push(await createKey(service, `k${index}`));
      const [deleted, changed, ...others] = keys as [CreatedKey, CreatedKey, ...CreatedKey[]];
      await untilLive(service);
      const pool = (await service.post('/v2/pools', { name: 'empty' })).body as { id: string };
      const { id } = await shownServer(service);
      await service.patch(`/v2/nameservers/${id}`, { pool_id: pool.id });
      const state = async () => (await shownServer(service)).state;
      await expect.poll(state).toBe('blocked');
      const works = async (key: CreatedKey) => (await verdictOf(server, key)) === 'good';
      for (const key of keys) expect(await works(key)).toBe(true);

      const refuses = (key: CreatedKey) => expect.poll(() => works(key)).toBe(false);
      expect((await service.delete(`/v2/tsigkeys/${deleted.id}`)).status).toBe(204);
      await refuses(deleted);
      const secret = randomBytes(32).toString('base64');
      recordSecret(secret);
      expect((await service.patch(`/v2/tsigkeys/${changed.id}`, { secret })).status).toBe(200);
      await refuses(changed);
      for (const key of others) expect(await works(key)).toBe(true);
      expect(await state()).toBe('blocked');

      await service.post(`/v2/nameservers/${id}/reconcile`, { confirm: true });
      await untilLive(service);
      for (const key of others) expect(await works(key)).toBe(false);
    },
    90_000,
  );
});
