import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import type { ShownLifecycle } from '../../src/rotation/lifecycle-response.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { editFile, type Brand } from '../harness/brands/brand.ts';
import { call, powerdns } from '../harness/brands/powerdns.ts';
import {
  createKey,
  createZones,
  DEFAULT_POOL,
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
import { ZONES } from '../harness/driven-server.ts';
import { tokenWith } from '../harness/limited-tokens.ts';
import { nightly } from '../harness/nightly.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';
import { clientFor } from '../harness/zones.ts';
import { tsigil } from '../cli/run.ts';
import { startAgentRequests } from './agent-requests.ts';

/** What an operator writes to a configuration, with `KEY` for the name of a key. */
const LINES: Readonly<Record<string, readonly string[]>> = {
  bind: [
    'server 192.0.2.9 {\n  keys { "KEY"; };\n};\n',
    'primaries "others" { 192.0.2.9 key "KEY"; };\n',
  ],
  knot: ['remote:\n  - id: other\n    address: 192.0.2.9\n    key: KEY.\n'],
  nsd: ['pattern:\n    name: "other"\n    request-xfr: 192.0.2.9 KEY\n'],
};

const CASES = BRANDS.filter((brand) => brand.isInstalled()).flatMap((brand) =>
  (LINES[brand.driver] ?? [])
    .slice(0, sized(1, 2))
    .map((lines) => ({ brand, lines, name: brand.name })),
);

describe.each(CASES)('a $name server whose own lines name a key: $lines', ({ brand, lines }) => {
  let server: DeliveryServer;
  let service: TestService;
  let main: string;
  let folder: string | undefined;
  const restart = async () => {
    await service.close();
    service = await startTestService(delivering(server), { folder: service.folder });
    await untilLive(service);
  };

  beforeAll(async () => {
    server = await startDeliveryServer(brand);
    main = join(server.folder, brand.main);
  });
  beforeEach(async () => {
    service = await startTestService(delivering(server), folder === undefined ? {} : { folder });
    if (folder === undefined) await createZones(service);
    ({ folder } = service);
    await untilLive(service);
  });
  afterEach(() => service.close());
  afterAll(() => server.remove());

  const keysFile = () => readFileSync(join(server.folder, brand.include?.file ?? ''), 'utf8');
  const reconcile = async () => {
    const { id } = await shownServer(service);
    expect((await service.post(`/v2/nameservers/${id}/reconcile`, {})).status).toBe(200);
  };

  test('409 with the file and the line for its deletion, and by force it stays without a known secret', async () => {
    const key = await createKey(service, 'named-key');
    const other = await createKey(service, 'other-key');
    for (const { id } of [key, other])
      expect((await deliveries(service, id)).state).toBe('delivered');
    const own = lines.replace('KEY', 'named-key');
    const line = `${readFileSync(main, 'utf8')}${own}`.split('named-key')[0]?.split('\n').length;
    await editFile(main, (text) => text + own);
    await reconcile();
    const place = `${main}:${line}`;
    await expect
      .poll(() => shownServer(service), { timeout: 120_000 })
      .toMatchObject({ key_references: [{ key: 'named-key', place }] });
    const refused = await service.delete(`/v2/tsigkeys/${key.id}`);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ type: 'key_is_referenced' });
    expect(refused.text).toContain(`'ns1' names it (${place})`);
    // A token with limits learns nothing of the name server, and cannot use force.
    const limited = await tokenWith(service, { keys: [key.id] });
    const hidden = await limited.delete(`/v2/tsigkeys/${key.id}`, { 'tsigil-force': 'true' });
    expect(hidden.status).toBe(409);
    expect(hidden.text).not.toContain('ns1');
    expect(hidden.text).not.toContain(main);
    expect(await verdictOf(server, key)).toBe('good');
    expect((await service.delete(`/v2/tsigkeys/${other.id}`)).status).toBe(204);

    const { variables } = service;
    const parameters = ['tsigkey', 'delete', 'named-key', '--force', '--wait'];
    const deleted = await tsigil(temporaryFolder(), variables, ...parameters);
    expect([deleted.status, deleted.err]).toEqual([0, '']);
    expect(await verdictOf(server, key)).not.toBe('good');
    expect(keysFile()).not.toContain(key.secret);
    // The server loads its configuration with further keys.
    const further = await createKey(service, 'further-key');
    expect((await deliveries(service, further.id)).state).toBe('delivered');
    expect(keysFile()).toContain('# Disabled, because other lines name these keys: named-key\n');
    await restart();
    expect(await shownServer(service)).toMatchObject({ state: 'live', error: null });

    // Without the lines, the next delivery removes the key.
    await editFile(main, (text) => text.replace(own, ''));
    const last = await createKey(service, 'last-key');
    expect((await deliveries(service, last.id)).state).toBe('delivered');
    expect(keysFile()).not.toContain('named-key');
  });

  nightly('a rotation waits with the file and the line until it names the successor', async () => {
    const key = await createKey(service, 'rotated-key');
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    const own = lines.replace('KEY', 'rotated-key');
    const before = readFileSync(main, 'utf8');
    const line = `${before}${own}`.split('rotated-key')[0]?.split('\n').length;
    const references = async () =>
      ((await shownServer(service)) as unknown as { key_references: { key: string }[] })
        .key_references;
    await editFile(main, (text) => text + own);
    await reconcile();
    await expect.poll(references, { timeout: 120_000 }).toMatchObject([{ key: 'rotated-key' }]);
    const overlap = { overlap_seconds: 0 };
    const rotated = await service.post(`/v2/tsigkeys/${key.id}/rotate`, overlap);
    const next = rotated.body as unknown as CreatedKey;
    expect((await deliveries(service, next.id)).state).toBe('delivered');
    await service.post(`/v2/tsigkeys/${key.id}/confirm`, {});
    const { body } = await service.get(`/v2/tsigkeys/${key.id}/lifecycle`);
    expect((body as unknown as ShownLifecycle).keys[0]).toMatchObject({
      state: 'draining',
      waiting: { reason: 'referenced', who: [`ns1: ${main}:${line}`] },
    });
    expect((await service.post(`/v2/tsigkeys/${key.id}/retire`, {})).status).toBe(409);
    expect(await verdictOf(server, key)).toBe('good');
    // The operator puts the successor there.
    await editFile(main, (text) => text.replace(own, lines.replace('KEY', next.name)));
    await reconcile();
    await expect.poll(references, { timeout: 120_000 }).toMatchObject([{ key: next.name }]);
    expect((await service.post(`/v2/tsigkeys/${key.id}/retire`, {})).status).toBe(200);
    await expect.poll(() => verdictOf(server, key), { timeout: 120_000 }).not.toBe('good');
    expect(await verdictOf(server, next)).toBe('good');
  });
});

/** How another program makes a server need keys. */
interface Naming {
  readonly brand: Brand;
  /** Names two keys. Returns what the service shows as the beginnings of their places. */
  name(server: DeliveryServer, keys: readonly [string, string]): Promise<[string, string]>;
  unname(server: DeliveryServer): Promise<void>;
  has(server: DeliveryServer, key: string): Promise<boolean>;
  /** Whether the server would refuse its configuration without the keys. */
  readonly keepsNames: boolean;
}

function inFile(brand: Brand): Naming {
  const pathOf = (server: DeliveryServer, file = '') => join(server.folder, file);
  const { main, include: { file } = {} } = brand;
  let former = '';
  return {
    brand,
    keepsNames: true,
    async name(server, keys) {
      const [lines = ''] = LINES[brand.driver] ?? [];
      former = readFileSync(pathOf(server, main), 'utf8');
      for (const [index, key] of keys.entries()) {
        const own = lines.replace('KEY', key).replace('192.0.2.9', `192.0.2.${index}`);
        await editFile(pathOf(server, main), (text) => text + own.replace('other', `o${index}`));
      }
      return [`${pathOf(server, main)}:`, `${pathOf(server, main)}:`];
    },
    unname: (server) => editFile(pathOf(server, main), () => former),
    has: (server, key) =>
      Promise.resolve(new RegExp(`"${key}\\.?"`).test(readFileSync(pathOf(server, file), 'utf8'))),
  };
}

const requester = ({ folder, controlPort }: DeliveryServer, zone: string, keys: string[]) =>
  call(folder, controlPort, 'PUT', `/zones/${zone}.`, { slave_tsig_key_ids: keys });

const inMetadata: Naming = {
  brand: powerdns,
  keepsNames: false,
  async name(server, keys) {
    for (const [index, key] of keys.entries())
      await requester(server, String(ZONES[index]), [`${key}.`]);
    return [`AXFR-MASTER-TSIG of ${ZONES[0]}`, `AXFR-MASTER-TSIG of ${ZONES[1]}`];
  },
  async unname(server) {
    for (const zone of ZONES) await requester(server, zone, []);
  },
  async has({ folder, controlPort }, key) {
    const keys = (await call(folder, controlPort, 'GET', '/tsigkeys')) as { id: string }[];
    return keys.some(({ id }) => id === `${key}.`);
  },
};

const NAMINGS = [...CASES.map(({ brand }) => brand), powerdns]
  .filter((brand, index, all) => brand.isInstalled() && all.indexOf(brand) === index)
  .map((brand) => (brand === powerdns ? inMetadata : inFile(brand)))
  .map((naming) => ({ ...naming, of: naming.brand.name }));

describe.each(NAMINGS)('a $of server that needs two keys', (naming) => {
  nightly(
    '409 for every change that takes one of them away, which by force leaves the server working',
    async () => {
      const { brand, keepsNames } = naming;
      const server = await startDeliveryServer(brand);
      onTestFinished(() => server.remove());
      const service = await startTestService(delivering(server));
      onTestFinished(() => service.close());
      await createZones(service);
      const admin = service.with(service.token);
      const zone = (await inZone(service, 'b.test')) as { resource_id: string };
      const key = await createKey(service, 'pool-key');
      const zoneKey = await createKey(service, 'zone-key', zone);
      for (const { id } of [key, zoneKey])
        expect(await deliveries(service, id)).toMatchObject({ state: 'delivered' });
      const places = await naming.name(server, ['pool-key', 'zone-key']);
      const { id } = await shownServer(service);
      const reconcile = async () => {
        expect((await service.post(`/v2/nameservers/${id}/reconcile`, {})).status).toBe(200);
      };
      await reconcile();
      await expect
        .poll(() => shownServer(service), { timeout: 120_000 })
        .toMatchObject({
          key_references: ['pool-key', 'zone-key'].map((name, index) => ({
            key: name,
            place: expect.stringContaining(String(places[index])) as string,
          })),
        });

      const { body: pool } = await service.post('/v2/pools', { name: 'other' });
      const path = `/v2/tsigkeys/${key.id}`;
      const force = { 'tsigil-force': 'true' };
      const refusals: [string, string, object | undefined, string][] = [
        ['DELETE', path, undefined, "The key 'pool-key' cannot be deleted"],
        ['PATCH', path, { name: 'renamed' }, "The key 'pool-key' cannot be renamed"],
        ['PATCH', path, { resource_id: pool.id }, "The key 'pool-key' cannot be moved"],
        ['DELETE', `/v2/zones/${zone.resource_id}`, undefined, "The zone 'b.test.' cannot be"],
        [
          'PATCH',
          `/v2/nameservers/${id}`,
          { pool_id: pool.id },
          "The name server 'ns1' cannot move",
        ],
      ];
      for (const [method, at, body, what] of refusals) {
        const refused = await admin.call(method, at, body);
        expect(refused.body, `${method} ${at}`).toMatchObject({
          code: 409,
          type: 'key_is_referenced',
          message: expect.stringContaining(what) as string,
        });
        expect(refused.body.message).toContain(at.includes('zones') ? places[1] : places[0]);
      }
      // These leave the key on the server.
      for (const body of [{ name: 'POOL-KEY.' }, { name: 'pool-key', secret: key.secret }, zone])
        expect((await service.patch(path, body)).status).toBe(200);
      const inPool = { scope: 'POOL', resource_id: DEFAULT_POOL };
      expect((await service.patch(path, inPool)).status).toBe(200);
      const grants = await service.call('PUT', `${path}/grants`, { grants: [] });
      expect(grants.status).toBe(200);
      expect(await deliveries(service, key.id)).toMatchObject({ state: 'delivered' });
      expect(await naming.has(server, 'pool-key')).toBe(true);
      expect((await service.call('PUT', `${path}/grants`, { grants: null })).status).toBe(200);

      const { variables } = service;
      const renaming = ['tsigkey', 'set', 'pool-key', '--name', 'renamed', '--force', '--wait'];
      const renamed = await tsigil(temporaryFolder(), variables, ...renaming);
      expect([renamed.status, renamed.err]).toEqual([0, '']);
      const deleting = await admin.call(
        'DELETE',
        `/v2/zones/${zone.resource_id}`,
        undefined,
        force,
      );
      expect(deleting.status).toBe(202);
      const further = await createKey(service, 'further-key');
      expect(await deliveries(service, further.id)).toMatchObject({ state: 'delivered' });
      await untilLive(service);
      expect(await verdictOf(server, { ...key, name: 'renamed' })).toBe('good');
      for (const old of [key, zoneKey]) {
        expect(await verdictOf(server, old, { zone: 'b.test' })).not.toBe('good');
        expect(await naming.has(server, old.name)).toBe(keepsNames);
      }

      // Without the lines, the next delivery removes the names.
      await naming.unname(server);
      const last = await createKey(service, 'last-key');
      expect(await deliveries(service, last.id)).toMatchObject({ state: 'delivered' });
      for (const old of [key, zoneKey]) expect(await naming.has(server, old.name)).toBe(false);
      await untilLive(service);
    },
  );
});

test('a member that deletes its zone learns neither the key nor the file from the refusal', async () => {
  const { service, createKey, desired, observe } = await startAgentRequests();
  onTestFinished(() => service.close());
  const member = await clientFor(service, ['member'], 'project');
  const { body: zone } = await member.post('/v2/zones', { name: 'z.test.', email: 'a@z.test' });
  await createKey('of-the-zone', { scope: 'ZONE', resource_id: zone.id });
  const references = [{ key: 'of-the-zone', place: '/etc/bind/named.conf:12' }];
  await observe(await desired(), { key_references: references });
  const refused = await member.delete(`/v2/zones/${zone.id}`);
  expect([refused.status, refused.body.type]).toEqual([409, 'key_is_referenced']);
  expect(refused.text).not.toMatch(/of-the-zone|named\.conf|ns1/);
  const everywhere = { 'x-auth-all-projects': 'true' };
  const shown = await service.delete(`/v2/zones/${zone.id}`, everywhere);
  expect(shown.body.message).toContain(
    "the configuration of the name server 'ns1' names its key 'of-the-zone' (/etc/bind/named.conf:12)",
  );
  const forced = { ...everywhere, 'tsigil-force': 'true' };
  expect((await service.delete(`/v2/zones/${zone.id}`, forced)).status).toBe(202);
});
