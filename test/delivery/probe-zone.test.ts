import { beforeAll, describe, expect, test } from 'vitest';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const [brand] = BRANDS.filter((each) => each.isInstalled());
const NOT_SERVED = "ns1 does not serve 'elsewhere.test.': set probe_zone";

describe.runIf(brand !== undefined)('a name server that does not serve its probe_zone', () => {
  let server: DeliveryServer;
  let service: TestService;

  beforeAll(async () => {
    if (brand === undefined) return;
    server = await startDeliveryServer(brand);
    service = await startTestService(
      delivering({ entry: { ...server.entry, probeZone: 'elsewhere.test.' } }),
    );
    await createZones(service);
    await untilLive(service);
  });
  test('is reported by the check and by the state of a key, which says what to set', async () => {
    const { id } = await shownServer(service);
    const { body } = await service.get(`/v2/nameservers/${id}/check`);
    const { requirements } = body as { requirements: { ok: boolean }[] };
    expect(requirements.filter(({ ok }) => !ok)).toMatchObject([
      {
        requirement:
          "The name server refuses unsigned transfers and updates of the zone 'elsewhere.test.'.",
        problem: `${NOT_SERVED}.`,
      },
    ]);
    const key = await createKey(service, 'tested-elsewhere');
    const error = { code: 'not_verified', message: NOT_SERVED };
    expect((await deliveries(service, key.id)).servers).toMatchObject([{ state: 'failed', error }]);
    expect(await shownServer(service)).toMatchObject({ error: NOT_SERVED });
  });
});
