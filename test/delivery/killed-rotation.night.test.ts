import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ShownLifecycle } from '../../src/domain/rotation/shown.ts';
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
  type DeliveryServer,
} from '../harness/delivery.ts';
import {
  startServiceProcess,
  temporaryFolder,
  testDatabase,
  type ServiceProcess,
} from '../harness/service.ts';

const INSTALLED = BRANDS.filter((brand) => brand.isInstalled());

describe.runIf(INSTALLED.length > 0)(
  'a service that is killed between the steps of rotations',
  () => {
    const folder = temporaryFolder();
    let servers: DeliveryServer[];
    let service: ServiceProcess;
    let variables: Record<string, string>;

    beforeAll(async () => {
      servers = await Promise.all(
        INSTALLED.map((brand) => startDeliveryServer(brand, brand.driver)),
      );
      variables = {
        ...delivering(...servers),
        TSIGIL_DATABASE_URL: await testDatabase(folder),
        TSIGIL_ADMIN_TOKEN: 'kill-rotations-0123456789-0123456789abcdef',
      };
      service = await startServiceProcess(folder, variables);
      await createZones(service);
      await untilLive(service, ...servers.map(({ name }) => name));
    }, 300_000);
    afterAll(() => service.stop('SIGTERM'));

    test('leaves a valid key of each lineage on every name server, and ends them all alike', async () => {
      const lineages: { former: CreatedKey; next: CreatedKey }[] = [];
      const without: string[] = [];
      const isRefused = async (server: DeliveryServer, key: CreatedKey) =>
        (await verdictOf(server, key)) !== 'good';
      /** Notes the name servers that refuse both keys of a lineage. The former key goes last. */
      const probe = async () => {
        for (const server of servers)
          for (const { former, next } of lineages)
            if ((await isRefused(server, former)) && (await isRefused(server, next)))
              without.push(`${server.name}: ${former.name}`);
      };
      for (let round = 0; round < 4; round += 1) {
        for (const index of [0, 1]) {
          const former = await createKey(service, `round-${round}-${index}`);
          expect((await deliveries(service, former.id)).state).toBe('delivered');
          const request = { overlap_seconds: 0, retire: 'automatic' };
          const { body } = await service.post(`/v2/tsigkeys/${former.id}/rotate`, request);
          lineages.push({ former, next: body as CreatedKey });
        }
        // The job looks at rotations every five seconds.
        const killed = pause(randomInt(5500)).then(() => service.stop('SIGKILL'));
        await Promise.all([killed, probe()]);
        service = await startServiceProcess(folder, variables);
        await probe();
      }
      for (const { former, next } of lineages) {
        await vi.waitFor(
          async () => {
            const { body } = await service.get(`/v2/tsigkeys/${former.id}/lifecycle`);
            const { keys } = body as unknown as ShownLifecycle;
            expect(keys.map(({ state }) => state)).toEqual(['retired', 'active']);
            for (const server of servers) {
              expect(await verdictOf(server, next)).toBe('good');
              expect(await isRefused(server, former)).toBe(true);
            }
          },
          { timeout: 60_000, interval: 200 },
        );
        const { body } = await service.get(`/v2/audit?resource_id=${former.id}&limit=100`);
        const actions = (body.records as { action: string }[]).map(({ action }) => action);
        expect(actions.filter((action) => action.startsWith('tsigkey.rotation.')).sort()).toEqual(
          ['retired', 'started', 'verified'].map((event) => `tsigkey.rotation.${event}`),
        );
      }
      expect(without).toEqual([]);
    }, 300_000);
  },
);
