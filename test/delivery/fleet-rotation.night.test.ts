import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { ShownLifecycle } from '../../src/domain/rotation/shown.ts';
import { runInside } from '../cli/session.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { hasDnsTools, isGranted } from '../harness/dns-tools.ts';
import { logging } from '../harness/logging.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const areInstalled = BRANDS.every((brand) => brand.isInstalled()) && hasDnsTools();

/** The clients that a test forgets, by the brand of the name server that they use. */
const FORGOTTEN = { bind: '127.0.0.2', nsd: '127.0.0.3' } as const;

describe.runIf(areInstalled)('a fleet of keys on one name server of each brand', () => {
  let servers: DeliveryServer[];
  let service: TestService;

  beforeAll(async () => {
    servers = await Promise.all(
      BRANDS.map((brand) => startDeliveryServer(logging(brand), brand.driver)),
    );
    service = await startTestService(delivering(...servers), {
      rotations: { intervalMs: 100, pollMs: 100, windowMs: 1000 },
    });
    await createZones(service);
    await untilLive(service, ...servers.map(({ name }) => name));
  }, 600_000);

  const serverOf = (brand: keyof typeof FORGOTTEN): DeliveryServer => {
    const found = servers.find(({ name }) => name === brand);
    if (found === undefined) throw new Error(`There is no ${brand}`);
    return found;
  };
  const formerOf = async (id: string) => {
    const { body } = await service.get(`/v2/tsigkeys/${id}/lifecycle`);
    return (body as unknown as ShownLifecycle).keys[0];
  };
  const reconcile = async () => {
    for (const { name } of servers)
      await service.post(`/v2/nameservers/${(await shownServer(service, name)).id}/reconcile`, {});
  };

  test('moves off hmac-md5; a forgotten client is named with its address, and restored', async () => {
    const keys: CreatedKey[] = [];
    for (let index = 0; index < 16; index += 1)
      keys.push(await createKey(service, `old-${index}.example`, { algorithm: 'hmac-md5' }));
    for (const { id } of keys)
      await expect.poll(async () => (await deliveries(service, id)).state).toBe('delivered');
    const flags = ['--weak', '--yes', '--retire', 'automatic', '--overlap', '0m'];
    const rotated = await runInside(service, 'tsigkey', 'rotate', ...flags);
    expect(rotated).toMatchObject({ status: 0 });
    for (const { name } of keys)
      expect(rotated.out).toContain(
        `${name}: replaced by ${name.replace('.example', '-r2.example')}`,
      );
    for (const { id } of keys)
      await vi.waitFor(async () => expect((await formerOf(id))?.state).toBe('retired'), {
        timeout: 120_000,
      });
    const { body } = await service.get('/v2/tsigkeys?limit=1000');
    const successors = body.tsigkeys as CreatedKey[];
    expect(successors.map(({ algorithm }) => algorithm)).toEqual(keys.map(() => 'hmac-sha256'));
    const [first, last] = [keys[0], keys.at(-1)];
    if (first === undefined || last === undefined) throw new Error('There are no keys');
    for (const server of servers) {
      for (const key of successors) expect(await verdictOf(server, key)).toBe('good');
      for (const key of keys)
        await vi.waitFor(async () => expect(await verdictOf(server, key)).not.toBe('good'), {
          timeout: 120_000,
        });
    }
    const forgotten = { bind: first, nsd: last };
    for (const brand of ['bind', 'nsd'] as const) {
      const { id } = forgotten[brand];
      await vi.waitFor(
        async () => {
          const [server, address] = [serverOf(brand), FORGOTTEN[brand]];
          await isGranted(server.address, 'a.test', 'transfer', forgotten[brand], address);
          await reconcile();
          expect(await formerOf(id)).toMatchObject({
            used_after_retirement: { addresses: [address] },
          });
        },
        { timeout: 120_000, interval: 300 },
      );
      expect((await service.post(`/v2/tsigkeys/${id}/restore`, {})).status).toBe(200);
      for (const server of servers)
        await vi.waitFor(
          async () => expect(await verdictOf(server, forgotten[brand])).toBe('good'),
          {
            timeout: 120_000,
            interval: 20,
          },
        );
    }
  }, 600_000);

  test('a rotation has no time of retirement while one name server is down, and names it', async () => {
    const key = await createKey(service, 'spread.example');
    await expect.poll(async () => (await deliveries(service, key.id)).state).toBe('delivered');
    const down = serverOf('nsd');
    await down.stop();
    const request = { overlap_seconds: 0, retire: 'automatic' };
    const { body } = await service.post(`/v2/tsigkeys/${key.id}/rotate`, request);
    const next = body as unknown as CreatedKey;
    const others = servers.filter((server) => server !== down);
    for (const server of others)
      await vi.waitFor(async () => expect(await verdictOf(server, next)).toBe('good'), {
        timeout: 120_000,
      });
    await vi.waitFor(
      async () => {
        const refused = await service.post(`/v2/tsigkeys/${key.id}/retire`, {});
        expect(refused.status).toBe(409);
        expect(refused.text).toContain(`not every name server accepts '${next.name}': nsd.`);
      },
      { timeout: 120_000 },
    );
    expect(await formerOf(key.id)).toMatchObject({
      state: 'spreading',
      verified_at: null,
      retire_at: null,
    });
    for (const server of others) expect(await verdictOf(server, key)).toBe('good');
    await down.start();
    await vi.waitFor(
      async () => {
        await reconcile();
        expect((await formerOf(key.id))?.state).toBe('retired');
      },
      { timeout: 120_000, interval: 300 },
    );
    expect(await verdictOf(down, next)).toBe('good');
  }, 600_000);
});
