import { once } from 'node:events';
import { request, type ClientRequest } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { BRANDS } from '../harness/brands/brands.ts';
import type { Client } from '../harness/client.ts';
import {
  createKey,
  createZones,
  delivering,
  startDeliveryServer,
  untilLive,
  verdictOf,
} from '../harness/delivery.ts';
import { startTestService } from '../harness/service.ts';
import { delayLoads } from '../harness/slow-loads.ts';

/** Less than the time limit of a load. */
const GRACE_SECONDS = 30;

/** The brands whose servers load a file. */
const LOADING = BRANDS.filter((brand) => brand.include !== undefined);

for (const brand of LOADING)
  test.runIf(brand.isInstalled())(
    `a stop ends in time while ${brand.name} loads its configuration, and the next start delivers`,
    async () => {
      const server = await startDeliveryServer(brand);
      const slow = await delayLoads(server, brand);
      const variables = {
        ...delivering({ entry: { ...server.entry, local: slow.options } }),
        TSIGIL_STOP_GRACE_SECONDS: String(GRACE_SECONDS),
      };
      const service = await startTestService(variables);
      await createZones(service);
      await untilLive(service);
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }); // the limit of the load too
      onTestFinished(() => void vi.useRealTimers());
      slow.hold();
      const key = await createKey(service, 'late.example');
      await slow.loading();
      const upload = await beginRequest(service);
      const closed = service.close();
      const cut = once(upload, 'error');
      await vi.advanceTimersByTimeAsync(GRACE_SECONDS * 1000);
      await Promise.all([closed, cut]);
      vi.useRealTimers();

      slow.release();
      const next = await startTestService(variables, { folder: service.folder });
      await untilLive(next);
      expect(await verdictOf(server, key)).toBe('good');
    },
  );

/** Begins a request that the service waits for. */
async function beginRequest({ url, token }: Client): Promise<ClientRequest> {
  const upload = request(`${url}/v2/tlds`, {
    method: 'POST',
    headers: {
      'x-auth-token': token,
      'content-type': 'application/json',
      'content-length': 100,
      expect: '100-continue',
    },
  });
  upload.flushHeaders();
  await once(upload, 'continue');
  upload.write('{');
  return upload;
}
