import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { RIGHTS, type Right } from '../../src/access/rights.ts';
import { bind } from '../harness/brands/bind.ts';
import { editFile } from '../harness/brands/brand.ts';
import { BRANDS_OF_STORE } from '../harness/brands/brands.ts';
import { knot } from '../harness/brands/knot.ts';
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
import { hasDnsTools, isGranted } from '../harness/dns-tools.ts';
import { ZONES } from '../harness/driven-server.ts';
import { nightly } from '../harness/nightly.ts';
import { startTestService, type TestService } from '../harness/service.ts';

const INSTALLED = BRANDS_OF_STORE.filter((brand) => brand.isInstalled());
const TEN = [...ZONES, ...['c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].map((name) => `${name}.test`)];

describe.runIf(hasDnsTools()).each(INSTALLED)('a service with a $name server', (brand) => {
  let server: DeliveryServer;
  let service: TestService;
  const ids = new Map<string, string>();
  beforeAll(async () => {
    server = await startDeliveryServer(brand, 'ns1', TEN);
    service = await startTestService(delivering(server));
    await createZones(service, TEN);
    for (const zone of TEN) {
      const { resource_id: id } = (await inZone(service, zone)) as { resource_id: string };
      ids.set(zone, id);
    }
  });
  afterAll(async () => {
    await service.close();
    await server.remove();
  });

  const grant = (rights: readonly Right[], zones: 'all' | readonly string[]) => ({
    rights,
    zones: zones === 'all' ? zones : zones.map((zone) => ids.get(zone)),
  });
  const put = async ({ id }: CreatedKey, grants: readonly object[] | null) => {
    const response = await service.call('PUT', `/v2/tsigkeys/${id}/grants`, { grants });
    expect(response.status, response.text).toBe(200);
    expect(await deliveries(service, id)).toMatchObject({ state: 'delivered' });
  };
  /** Returns what dig, kdig and nsupdate may do with a key, as `right zone`. */
  const opened = async (key: CreatedKey): Promise<string[]> => {
    const found: string[] = [];
    for (const zone of TEN)
      for (const right of RIGHTS)
        if (await isGranted(server.address, zone, right, key)) found.push(`${right} ${zone}`);
    return found;
  };

  test('a key with transfers of two of ten zones opens only these, from its creation on', async () => {
    const grants = [grant(['transfer'], ['b.test', 'g.test'])];
    const key = await createKey(service, 'two', { grants });
    expect(await deliveries(service, key.id)).toMatchObject({ state: 'delivered' });
    expect(await opened(key)).toEqual(['transfer b.test', 'transfer g.test']);
  });

  nightly('a key with an empty list opens nothing, but the server knows it', async () => {
    const key = await createKey(service, 'requester', { grants: [] });
    expect(await deliveries(service, key.id)).toMatchObject({ state: 'delivered' });
    expect(await opened(key)).toEqual([]);
    const verdict = await verdictOf(server, key);
    // Knot DNS does not distinguish a key without rights from an unknown one.
    expect(verdict).toBe(brand.driver === 'knot' ? 'unknown key' : 'not authorised');
    await untilLive(service);
    expect(await shownServer(service)).toMatchObject({ state: 'live' });
    await put(key, [grant(['transfer'], ['a.test'])]);
    expect(await opened(key)).toEqual(['transfer a.test']);
    await put(key, []);
    expect(await opened(key)).toEqual([]);
  });
});

const REMEDY =
  /update the zone 'a\.test\.?'\. Write the list 'tsigil-update' .*: tsigil tsigkey grants first --right transfer$/;

const UPDATING = [
  {
    brand: bind,
    withoutList: (text: string) => text.replace(/^.*"tsigil-update-a\.test".*\n/m, ''),
  },
  {
    brand: knot,
    withoutList: (text: string) =>
      text.replace(
        /^.*tsigil-update-a\.test.*$/m,
        '    acl: [tsigil-transfer, tsigil-transfer-a.test]',
      ),
  },
].filter(({ brand }) => brand.isInstalled());

/** Starts a service that delivers to a name server whose configuration was edited. */
async function startWithout(
  brand: Parameters<typeof startDeliveryServer>[0],
  edit: (configuration: string) => string,
) {
  const server = await startDeliveryServer(brand);
  onTestFinished(() => server.remove());
  await editFile(join(server.folder, brand.main), edit);
  await server.stop();
  await server.start();
  const service = await startTestService(delivering(server));
  onTestFinished(() => service.close());
  await createZones(service);
  await untilLive(service);
  return service;
}

test.each(UPDATING)(
  'a $brand.name server is live if one of its zones names no list for a right of a key: the key says which, and how to limit it',
  async ({ brand, withoutList }) => {
    const service = await startWithout(brand, withoutList);
    const key = await createKey(service, 'first');
    expect(await deliveries(service, key.id)).toMatchObject({
      state: 'failed',
      servers: [{ error: { code: 'not_admitted', message: expect.stringMatching(REMEDY) } }],
    });
    const live = { state: 'live', error: null, keys_wanted: 1 };
    expect(await shownServer(service)).toMatchObject({ ...live, keys_live: 0 });
    const { id } = await shownServer(service);
    const { body } = await service.get(`/v2/nameservers/${id}/check`);
    expect(body.requirements).toContainEqual(
      expect.objectContaining({ ok: false, problem: expect.stringMatching(REMEDY) }),
    );
    const grants = [{ rights: ['transfer'], zones: 'all' }];
    await service.call('PUT', `/v2/tsigkeys/${key.id}/grants`, { grants });
    expect(await deliveries(service, key.id)).toMatchObject({ state: 'delivered' });
    expect(await shownServer(service)).toMatchObject({ ...live, keys_live: 1 });
  },
);

test.runIf(knot.isInstalled())(
  'a Knot server is live if no zone names a list for its only key: the server has loaded the key, although it denies to know it',
  async () => {
    const service = await startWithout(knot, (text) => text.replaceAll(/^ +acl: .*\n/gm, ''));
    const { id } = await createKey(service, 'first');
    const error = {
      code: 'not_admitted',
      message: expect.stringContaining("Write the list 'tsigil-") as string,
    };
    expect(await deliveries(service, id)).toMatchObject({ state: 'failed', servers: [{ error }] });
    expect(await shownServer(service)).toMatchObject({ state: 'live', error: null, keys_live: 0 });
  },
);

describe.runIf(bind.isInstalled())('a BIND server whose own list names a key', () => {
  nightly('shows only this key as failed while the list opens more than its grants', async () => {
    const server = await startDeliveryServer(bind);
    onTestFinished(() => server.remove());
    const entry = { ...server.entry, rights: ['transfer'] as const };
    const service = await startTestService(delivering({ entry }));
    onTestFinished(() => service.close());
    await createZones(service);
    const { resource_id: zone } = (await inZone(service, 'a.test')) as { resource_id: string };
    const key = await createKey(service, 'kept', {
      grants: [{ rights: ['transfer'], zones: [zone] }],
    });
    expect(await deliveries(service, key.id)).toMatchObject({ state: 'delivered' });
    const main = join(server.folder, 'named.conf');
    const former = readFileSync(main, 'utf8');
    const list = '"tsigil-transfer-b.test"; ';
    const configure = async (text: string) => {
      await editFile(main, () => text);
      await server.stop();
      await server.start();
      const { id } = await shownServer(service);
      expect((await service.post(`/v2/nameservers/${id}/reconcile`, {})).status).toBe(200);
    };
    const shown = async () => {
      const [own, { state, error }] = [
        await deliveries(service, key.id, 0),
        await shownServer(service),
      ];
      return [own.state, own.servers[0]?.error?.code, state, error];
    };
    const tooWide = ['failed', 'too_wide', 'live', null];
    await configure(former.replace(list, `${list}key "kept"; `));
    await expect.poll(shown, { timeout: 120_000 }).toEqual(tooWide);
    const { id: other } = await createKey(service, 'further');
    expect(await deliveries(service, other)).toMatchObject({ state: 'delivered' });
    expect(await shown()).toEqual(tooWide);
    await configure(former);
    await expect.poll(shown, { timeout: 120_000 }).toEqual(['delivered', undefined, 'live', null]);
  });
});
