import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { call, powerdns } from '../harness/brands/powerdns.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  inZone,
  shownServer,
  startDeliveryServer,
  verdictOf,
  type CreatedKey,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { ZONES } from '../harness/driven-server.ts';
import { SECRET } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { newKey } from '../brands/driver-contract.ts';

const ALGORITHM = 'hmac-sha256';

/** Returns the keys that may transfer a zone of PowerDNS, in their order. */
const signersOf = async ({ folder, controlPort }: DeliveryServer) =>
  (
    (await call(folder, controlPort, 'GET', '/zones/a.test.?rrsets=false')) as {
      master_tsig_key_ids: string[];
    }
  ).master_tsig_key_ids;

describe.runIf(powerdns.isInstalled())('a PowerDNS server with keys', () => {
  const mine = { name: powerdns.foreign, algorithm: ALGORITHM, secret: SECRET };
  const other = newKey({ rights: [] });
  let server: DeliveryServer;
  let service: TestService;
  let key: CreatedKey;

  beforeAll(async () => {
    server = await startDeliveryServer(powerdns);
    // An operator adds a key, and permits two keys to transfer a zone.
    const { folder, controlPort } = server;
    const added = { name: `${other.name}.`, algorithm: ALGORITHM, key: other.secret };
    await call(folder, controlPort, 'POST', '/tsigkeys', added);
    await call(folder, controlPort, 'PUT', '/zones/a.test.', {
      master_tsig_key_ids: [added.name, `${powerdns.foreign}.`],
    });
    service = await startTestService(delivering(server));
    await createZones(service);
  });
  afterAll(async () => {
    await service.close();
    await server.remove();
  });

  const works = (given: Omit<CreatedKey, 'id'>) => verdictOf(server, { id: '', ...given });

  test('keeps a key with the same name, algorithm and secret, which becomes one of Tsigil, and works all the time', async () => {
    expect([await works(mine), await works(other)]).toEqual(['good', 'good']);
    const verdicts: string[] = [];
    const end = new AbortController();
    const transfers = (async () => {
      while (!end.signal.aborted) verdicts.push(await works(mine));
    })();
    const taken = await createKey(service, other.name);
    key = await createKey(service, mine.name, { secret: mine.secret });
    const stateOf = async ({ id }: CreatedKey) => (await deliveries(service, id)).state;
    await expect.poll(() => stateOf(key)).toBe('delivered');
    expect(await stateOf(taken)).toBe('undeliverable');
    end.abort();
    await transfers;
    expect(new Set(verdicts)).toEqual(new Set(['good']));
    expect(await works(other)).toBe('good');
    expect(await signersOf(server)).toEqual([`${other.name}.`, `${mine.name}.`]);
    expect(await shownServer(service)).toMatchObject({
      keys_wanted: 2,
      keys_live: 1,
      state: 'live',
    });
  });

  test('is released: its keys stay, whatever happens to them in the service, and delivery is paused', async () => {
    const { id } = await shownServer(service);
    const { status, body } = await service.post(`/v2/nameservers/${id}/release`, {});
    expect([status, body]).toEqual([200, { released: 1 }]);
    expect(await shownServer(service)).toMatchObject({ state: 'paused', keys_live: 0 });
    expect(await deliveries(service, key.id)).toMatchObject({
      state: 'paused',
      servers: [{ delivered_version: 0 }],
    });
    await service.delete(`/v2/tsigkeys/${key.id}`);
    expect((await service.get(`/v2/tsigkeys/${key.id}/deliveries`)).status).toBe(404);
    expect(await shownServer(service)).toMatchObject({ unknown_keys: [], key_references: null });
    expect([await works(mine), await works(other)]).toEqual(['good', 'good']);
    const audit = await service.get('/v2/audit?action=nameservers:release');
    expect(audit.body.records).toMatchObject([{ resource_name: 'ns1', detail: { keys: 1 } }]);
  });
});

const LOSSES = [
  {
    entry: 'a zone that Tsigil does not have',
    zone: 'b.test',
    kinds: { 'TSIG-ALLOW-AXFR': [powerdns.foreign] },
    message: "the right 'transfer' in the zone 'b.test'. Create this zone in Tsigil",
  },
  {
    entry: 'an update network that no grant expresses',
    zone: 'a.test',
    kinds: {
      'TSIG-ALLOW-DNSUPDATE': [powerdns.foreign],
      'ALLOW-DNSUPDATE-FROM': ['10.0.0.0/8'],
    },
    message: "the right 'update' in the zone 'a.test'. Give it this right in Tsigil",
  },
];

test.runIf(powerdns.isInstalled()).each(LOSSES)(
  'PowerDNS: a key with $entry stays the own key of the operator, with all its entries, until the entry is gone',
  async ({ zone, kinds, message }) => {
    const server = await startDeliveryServer(powerdns);
    const service = await startTestService(delivering(server));
    onTestFinished(async () => {
      await service.close();
      await server.remove();
    });
    const request = (method: string, path: string, body?: object) =>
      call(server.folder, server.controlPort, method, path, body);
    const set = async (metadata: (values: string[]) => string[]) => {
      for (const [kind, values] of Object.entries(kinds))
        if (kind === 'TSIG-ALLOW-AXFR')
          await request('PUT', `/zones/${zone}.`, {
            master_tsig_key_ids: metadata(values).map((name) => `${name}.`),
          });
        else
          await request('PUT', `/zones/${zone}./metadata/${kind}`, { metadata: metadata(values) });
    };
    const all = () => Promise.all(ZONES.map((each) => request('GET', `/zones/${each}./metadata`)));
    await request('PUT', '/zones/a.test.', { master_tsig_key_ids: [`${powerdns.foreign}.`] });
    await set((values) => values);
    const before = await all();
    await createZones(service, ['a.test']);
    const { resource_id: id } = (await inZone(service, 'a.test')) as { resource_id: string };
    const key = await createKey(service, powerdns.foreign, {
      secret: SECRET,
      grants: [{ rights: ['transfer'], zones: [id] }],
    });
    expect(await deliveries(service, key.id)).toMatchObject({
      state: 'undeliverable',
      servers: [{ error: { code: 'name_taken', message: expect.stringContaining(message) } }],
    });
    expect(await all()).toEqual(before);
    // Deleting it in Tsigil takes nothing from the server.
    await service.delete(`/v2/tsigkeys/${key.id}`);
    const again = await createKey(service, powerdns.foreign, {
      secret: SECRET,
      grants: [{ rights: ['transfer'], zones: [id] }],
    });
    expect((await deliveries(service, again.id)).state).toBe('undeliverable');
    expect(await all()).toEqual(before);
    expect(await verdictOf(server, again)).toBe('good');

    await set(() => []);
    const { id: nameServer } = await shownServer(service);
    await service.post(`/v2/nameservers/${nameServer}/reconcile`, {});
    await expect
      .poll(async () => (await deliveries(service, again.id)).state, { timeout: 120_000 })
      .toBe('delivered');
    expect(await verdictOf(server, again)).toBe('good');
  },
);

test.runIf(powerdns.isInstalled())(
  'PowerDNS: a key that may update only from the networks of a setting does not get to update from everywhere',
  async () => {
    const server = await startDeliveryServer(powerdns);
    const service = await startTestService(delivering(server));
    onTestFinished(async () => {
      await service.close();
      await server.remove();
    });
    const metadata = (method: string, kind: string, values?: readonly string[]) =>
      call(
        ...([server.folder, server.controlPort, method] as const),
        `/zones/a.test./metadata/${kind}`,
        values && { metadata: values },
      );
    const networks = async () =>
      ((await metadata('GET', 'ALLOW-DNSUPDATE-FROM')) as { metadata: string[] }).metadata;
    await metadata('PUT', 'TSIG-ALLOW-DNSUPDATE', [powerdns.foreign]);
    await createZones(service, ['a.test']);
    const key = await createKey(service, powerdns.foreign, { secret: SECRET });
    const message = "it could update the zone 'a.test' from every address";
    expect(await deliveries(service, key.id)).toMatchObject({
      state: 'undeliverable',
      servers: [{ error: { code: 'name_taken', message: expect.stringContaining(message) } }],
    });
    expect(await networks()).toEqual([]);

    await metadata('PUT', 'ALLOW-DNSUPDATE-FROM', ['127.0.0.0/8']);
    const { id } = await shownServer(service);
    await service.post(`/v2/nameservers/${id}/reconcile`, {});
    await expect
      .poll(async () => (await deliveries(service, key.id)).state, { timeout: 120_000 })
      .toBe('delivered');
    expect(await networks()).toEqual(['127.0.0.0/8']);
  },
);
