import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findOpenRights, verifyExpectations } from '../../src/nameservers/probe.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  startDeliveryServer,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { IS_LONG, sizeOf } from '../harness/sizes.ts';

describe.each(BRANDS)('a service with a $name server', (brand) => {
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

  /** Waits until the server accepts or refuses each right of a key, without `deliveries`. */
  const expectKey = async (key: CreatedKey, accepted: boolean) => {
    const expectations = server.rights.map((right) => ({ key, right, zone: 'a.test', accepted }));
    const soon = AbortSignal.timeout(10_000);
    for (;;) {
      const outcomes = await verifyExpectations(server.address, expectations, Date.now, soon);
      if (outcomes.every(({ met }) => met)) return;
      expect(soon.aborted).toBe(false);
    }
  };

  test.each(['POOL', 'ZONE'])(
    'verifies a new key, and has a deleted one refused, in less than a second: scope %s',
    async (scope) => {
      const more = scope === 'POOL' ? {} : await inZone(service, 'a.test');
      const times = { created: [] as number[], deleted: [] as number[] };
      for (let round = 0; round < sizeOf('deliveryRounds'); round += 1) {
        const began = performance.now();
        const key = await createKey(service, `${scope.toLowerCase()}-${round}`, more);
        const { state } = await deliveries(service, key.id);
        times.created.push(performance.now() - began);
        expect(state).toBe('delivered');
        await expectKey(key, true);
        const middle = performance.now();
        await service.delete(`/v2/tsigkeys/${key.id}`);
        await expectKey(key, false);
        times.deleted.push(performance.now() - middle);
      }
      const [created, deleted] = [percentiles(times.created), percentiles(times.deleted)];
      if (IS_LONG)
        process.stderr.write(
          `${brand.name} ${scope}: created p50 ${created.p50} p99 ${created.p99} ms, deleted p50 ${deleted.p50} p99 ${deleted.p99} ms\n`,
        );
      expect([created.p50, deleted.p50].filter((each) => each >= 1000)).toEqual([]);
      if (IS_LONG) expect([created.p99, deleted.p99].filter((each) => each >= 1000)).toEqual([]);
      expect(await findOpenRights({ server: server.address, zone: 'a.test' })).toEqual([]);
    },
  );
});

/** Returns the median and the 99th percentile in milliseconds. */
function percentiles(values: readonly number[]): { p50: number; p99: number } {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return { p50: at(0.5), p99: at(0.99) };
}
