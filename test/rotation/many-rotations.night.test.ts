import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ShownLifecycle } from '../../src/rotation/lifecycle-response.ts';
import { createAgent } from '../harness/agent.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type CreatedKey,
} from '../harness/delivery.ts';
import { hasDnsTools, isGranted, type SigningKey } from '../harness/dns-tools.ts';
import { ZONES } from '../harness/driven-server.ts';
import { notifying, OPERATORS_KEY } from '../harness/notifying.ts';
import { startSecondary } from '../harness/secondary.ts';
import { startTestService } from '../harness/service.ts';

const INSTALLED = BRANDS.filter((brand) => brand.isInstalled() && hasDnsTools());

/** All brands, and one of them through an agent. */
const CASES = [
  ...INSTALLED.map((brand) => ({ name: brand.name, brand, isAgent: false })),
  ...INSTALLED.filter(({ driver }) => driver === 'powerdns').map((brand) => ({
    name: `${brand.name} with an agent`,
    brand,
    isAgent: true,
  })),
];

/** Between transfers, and between NOTIFY messages, so that the deliveries get the processor too. */
const PAUSE_MS = 200;

/** How often the request for a NOTIFY message is repeated on a server that drops some. */
const REPEAT_MS = 5000;

/** Repeats `work` until the returned function is called. That function waits for the last one. */
function always(work: () => Promise<void>) {
  const ending = new AbortController();
  let count = 0;
  const running = (async () => {
    while (!ending.signal.aborted) {
      await work();
      count += 1;
    }
  })();
  onTestFinished(() => {
    ending.abort();
  });
  return {
    /** Waits until work that begins from now on has ended. */
    async next() {
      const former = count;
      await vi.waitFor(() => expect(count).toBeGreaterThan(former + 1), { timeout: 120_000 });
    },
    async end() {
      ending.abort();
      await running;
    },
  };
}

describe.each(CASES)('rotations on $name', ({ brand, isAgent }) => {
  test('fail no transfer, and every NOTIFY arrives with a signature that its receiver accepts', async () => {
    const accepted: SigningKey[] = [OPERATORS_KEY];
    const secondary = await startSecondary(accepted);
    const server = await startDeliveryServer(notifying(brand, secondary.port));
    const service = await startTestService(isAgent ? {} : delivering(server), {
      rotations: { intervalMs: 50, pollMs: 50, windowMs: 1000 },
    });
    onTestFinished(() => service.close());
    await createZones(service);
    if (isAgent) {
      const agent = await createAgent(service, server);
      agent.start();
      onTestFinished(async () => {
        await agent.stop('SIGTERM');
      });
    }
    await untilLive(service);
    let current: CreatedKey = await createKey(service, 'used');
    accepted.push(current);
    // Another client has another key, which the secondary server lacks.
    const other = await createKey(service, 'other');
    // A busy machine may need another attempt.
    const untilDelivered = ({ id }: CreatedKey) =>
      vi.waitFor(
        async () => expect(await deliveries(service, id)).toMatchObject({ state: 'delivered' }),
        {
          timeout: 200_000,
        },
      );
    for (const key of [current, other]) await untilDelivered(key);

    let signing = current;
    const failed: string[] = [];
    const transfers = always(async () => {
      const { name } = signing;
      if (!(await isGranted(server.address, 'a.test', 'transfer', signing))) failed.push(name);
      await pause(PAUSE_MS);
    });
    const lost: string[] = [];
    const notify = async (zone: string) => {
      const former = secondary.arrivals.get(zone) ?? 0;
      const request = () => brand.notify(server, zone);
      await request();
      const again =
        brand.dropsRequests === true ? setInterval(() => void request(), REPEAT_MS) : undefined;
      const expectArrival = () => expect(secondary.arrivals.get(zone) ?? 0).toBeGreaterThan(former);
      await vi
        .waitFor(expectArrival, { timeout: 60_000, interval: 5 })
        .catch(() => void lost.push(zone));
      clearInterval(again);
    };
    const notifications = always(async () => {
      await Promise.all(ZONES.map(notify));
      await pause(PAUSE_MS);
    });
    const isPowerdns = brand.driver === 'powerdns';
    const expectSigner = async ({ name }: SigningKey) => {
      const expected = isPowerdns ? name : OPERATORS_KEY.name;
      await vi.waitFor(
        () => {
          for (const zone of ZONES) expect(secondary.zones.get(zone)).toBe(expected);
        },
        { timeout: 120_000 },
      );
    };
    await expectSigner(current);
    secondary.counts.clear(); // PowerDNS also sent NOTIFY messages before there were keys

    const count = isAgent ? 2 : 4;
    for (let round = 0; round < count; round += 1) {
      const former = current;
      // The successor signs for a second before the key goes, or both happen at once.
      const overlap = { overlap_seconds: round % 2 };
      const { body } = await service.post(`/v2/tsigkeys/${former.id}/rotate`, overlap);
      current = body as CreatedKey;
      await untilDelivered(current);
      await expectSigner(former);
      accepted.push(current);
      signing = current;
      await transfers.next();
      const confirmed = await service.post(`/v2/tsigkeys/${former.id}/confirm`, {});
      expect(confirmed.status, confirmed.text).toBe(200);
      await vi.waitFor(
        async () => {
          const response = await service.get(`/v2/tsigkeys/${former.id}/lifecycle`);
          const { keys } = response.body as unknown as ShownLifecycle;
          expect(keys.find(({ id }) => id === former.id)?.state).toBe('retired');
          expect(await verdictOf(server, former)).not.toBe('good');
        },
        { timeout: 120_000, interval: 50 },
      );
      expect(await isGranted(server.address, 'a.test', 'transfer', former)).toBe(false);
      expect(await verdictOf(server, current)).toBe('good');
      await expectSigner(current);
      accepted.splice(accepted.indexOf(former), 1);
    }
    await transfers.end();
    await notifications.end();
    expect(failed).toEqual([]);
    expect(lost).toEqual([]);
    for (const kind of ['bad', 'unsigned']) expect(secondary.counts.get(kind)).toBeUndefined();
    expect(secondary.counts.size).toBeGreaterThanOrEqual(isPowerdns ? count : 1);
  }, 600_000);
});
