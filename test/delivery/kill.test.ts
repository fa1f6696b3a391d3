import { randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ShownLifecycle } from '../../src/rotation/lifecycle-response.ts';
import { findOpenRights } from '../../src/net/probe.ts';
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
import { nightly } from '../harness/nightly.ts';
import {
  startServiceProcess,
  temporaryFolder,
  testDatabase,
  type ServiceProcess,
} from '../harness/service.ts';

const TOKEN = 'kill-delivery-0123456789-0123456789abcdef';

const INSTALLED = BRANDS.filter((brand) => brand.isInstalled());

describe.runIf(INSTALLED.length > 0)('a service that is killed', () => {
  const folder = temporaryFolder();
  let servers: DeliveryServer[];
  let service: ServiceProcess;
  let variables: Record<string, string>;

  beforeAll(async () => {
    servers = await Promise.all(
      INSTALLED.map((brand) => startDeliveryServer(brand, brand.name.toLowerCase())),
    );
    variables = {
      ...delivering(...servers),
      TSIGIL_DATABASE_URL: await testDatabase(folder),
      TSIGIL_ADMIN_TOKEN: TOKEN,
    };
    service = await startServiceProcess(folder, variables);
    await createZones(service);
    await untilLive(service, ...servers.map(({ name }) => name));
  });
  afterAll(async () => {
    await service.stop('SIGTERM');
    for (const server of servers) await server.remove();
  });

  test('while it delivers keys continues after each start, until every name server has the keys of the database', async () => {
    // A key whose deletion got no response is in neither `present` nor `deleted`.
    const present = new Map<string, CreatedKey>();
    const deleted: CreatedKey[] = [];
    for (let round = 0; round < 3; round += 1) {
      const killed = new AbortController();
      const changes = (async () => {
        for (let index = 0; !killed.signal.aborted; index += 1) {
          const key = await createKey(service, `round-${round}-${index}`).catch(() => undefined);
          if (key !== undefined) present.set(key.id, key);
          const victim = [...present.values()][randomInt(present.size + 1)];
          if (index % 3 === 2 && victim !== undefined) {
            const ended = await service.delete(`/v2/tsigkeys/${victim.id}`).catch(() => undefined);
            present.delete(victim.id);
            // Without a response, the test does not know whether the key exists.
            if (ended?.status === 204) deleted.push(victim);
          }
          await pause(randomInt(30));
        }
      })();
      await pause(randomInt(50, 900));
      killed.abort();
      const ended = service.stop('SIGKILL');
      await Promise.all([changes, ended]);
      service = await startServiceProcess(folder, variables);
    }
    const { body } = await service.get('/v2/tsigkeys?limit=1000');
    const keys = (body as { tsigkeys: CreatedKey[] }).tsigkeys;
    for (const { id } of keys) expect((await deliveries(service, id)).state).toBe('delivered');
    await untilLive(service, ...servers.map(({ name }) => name));
    for (const server of servers) {
      await server.stop();
      await server.start(); // fails if the configuration is invalid
      for (const key of keys)
        expect([key.name, await verdictOf(server, key)]).toEqual([key.name, 'good']);
      // PowerDNS rejects an unknown key without a reason.
      for (const key of deleted.slice(-20))
        expect(['unknown key', 'rejected']).toContain(await verdictOf(server, key));
      for (const zone of ['a.test', 'b.test'])
        expect(await findOpenRights({ server: server.address, zone })).toEqual([]);
      const { include } = server.brand;
      if (include !== undefined)
        expect(readdirSync(join(server.folder, 'keys'))).toEqual(['tsigil.conf']);
    }
  }, 180_000);

  nightly(
    'between the steps of rotations leaves a valid key of each lineage on every name server, and ends them all alike',
    async () => {
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
          const former = await createKey(service, `lineage-${round}-${index}`);
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
    },
    300_000,
  );
});
