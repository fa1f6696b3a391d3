import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { verifyExpectations } from '../../src/net/probe.ts';
import { createAgent } from '../harness/agent.ts';
import { knot } from '../harness/brands/knot.ts';
import { nsd } from '../harness/brands/nsd.ts';
import { powerdns } from '../harness/brands/powerdns.ts';
import {
  createKey,
  createZones,
  deliveries,
  startDeliveryServer,
  untilLive,
  type CreatedKey,
} from '../harness/delivery.ts';
import { ZONES } from '../harness/driven-server.ts';
import { startServiceProcess, temporaryFolder } from '../harness/service.ts';

// Agents with BIND have their own tests in test/process/agent.test.ts.
for (const brand of [knot, nsd, powerdns])
  test.runIf(brand.isInstalled())(
    `an agent delivers a new key to a ${brand.name} server and removes a deleted key from it`,
    async () => {
      const folder = temporaryFolder();
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const server = await startDeliveryServer(brand);
      onTestFinished(() => server.remove());
      const service = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: 'sqlite:t.db' });
      onTestFinished(async () => {
        await service.stop('SIGTERM');
      });
      await createZones(service);
      const agent = await createAgent(service, server);
      onTestFinished(async () => {
        await agent.stop('SIGTERM');
      });
      agent.start();
      await untilLive(service);

      /**
       * Returns whether the server accepts a key for each right in each zone. If `accepted` is
       * false, returns whether the server refuses the key for each right.
       */
      const isMet = async (key: CreatedKey, accepted: boolean) => {
        const expectations = ZONES.flatMap((zone) =>
          server.rights.map((right) => ({ key, right, zone, accepted })),
        );
        const soon = AbortSignal.timeout(10_000);
        const outcomes = await verifyExpectations(server.address, expectations, Date.now, soon);
        return outcomes.length > 0 && outcomes.every(({ met }) => met);
      };

      const [kept, deleted] = [
        await createKey(service, 'kept'),
        await createKey(service, 'deleted'),
      ];
      for (const key of [kept, deleted]) {
        expect((await deliveries(service, key.id)).state).toBe('delivered');
        expect(await isMet(key, true)).toBe(true);
      }
      expect((await service.delete(`/v2/tsigkeys/${deleted.id}`)).status).toBeLessThan(300);
      await untilLive(service);
      expect(await isMet(deleted, false)).toBe(true);
      expect(await isMet(kept, true)).toBe(true);
      expect(agent.output()).toContain('Delivered keys to a name server');
    },
  );
