import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BRANDS } from '../harness/brands/brands.ts';
import { editFile } from '../harness/brands/brand.ts';
import {
  createKey,
  createZones,
  deliveries,
  delivering,
  shownServer,
  startDeliveryServer,
  untilLive,
  verdictOf,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { tsigil } from '../cli/run.ts';

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
  (LINES[brand.driver] ?? []).map((lines) => ({ brand, lines, name: brand.name })),
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
    main = join(server.folder, brand.include?.main ?? '');
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
      .poll(() => shownServer(service), { timeout: 20_000 })
      .toMatchObject({ key_references: [{ key: 'named-key', place }] });
    const refused = await service.delete(`/v2/tsigkeys/${key.id}`);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ type: 'key_is_referenced' });
    expect(refused.text).toContain(`'ns1' names it (${place})`);
    expect(await verdictOf(server, key)).toBe('good');
    expect((await service.delete(`/v2/tsigkeys/${other.id}`)).status).toBe(204);

    const variables = { TSIGIL_URL: service.url, TSIGIL_TOKEN: service.token };
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

  test('a process that does not know the secret of the deleted key ends the removal', async () => {
    const key = await createKey(service, 'forgotten');
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    const own = lines.replace('KEY', 'forgotten');
    await editFile(main, (text) => text + own);
    const { id } = await shownServer(service);
    expect((await service.patch(`/v2/nameservers/${id}`, { paused: true })).status).toBe(200);
    const headers = { 'tsigil-force': 'true' };
    expect((await service.delete(`/v2/tsigkeys/${key.id}`, headers)).status).toBe(204);
    await service.close();
    service = await startTestService(delivering(server), { folder: service.folder });
    await service.patch(`/v2/nameservers/${id}`, { paused: false });
    await untilLive(service);
    expect((await service.get('/v2/deliveries?state=removing')).body).toEqual({ deliveries: [] });
    expect(await verdictOf(server, key)).not.toBe('good');
    expect(keysFile()).toContain('# Disabled, because other lines name these keys: forgotten\n');
    await editFile(main, (text) => text.replace(own, ''));
  });

  test('204 for a key if the configuration cannot be read', async () => {
    const key = await createKey(service, 'unread');
    expect((await deliveries(service, key.id)).state).toBe('delivered');
    const text = readFileSync(main, 'utf8');
    writeFileSync(main, `${text}${lines.replace('KEY', 'unread')}`);
    await reconcile();
    await expect
      .poll(() => shownServer(service), { timeout: 20_000 })
      .toMatchObject({ key_references: [{ key: 'unread' }] });
    const missing = `"${server.folder}/missing.conf"`;
    const include = brand.driver === 'bind' ? `include ${missing};` : `include: ${missing}`;
    writeFileSync(main, `${text}${lines.replace('KEY', 'unread')}${include}\n`);
    await reconcile();
    await expect
      .poll(() => shownServer(service), { timeout: 20_000 })
      .toMatchObject({ key_references: null });
    expect((await service.delete(`/v2/tsigkeys/${key.id}`)).status).toBe(204);
    writeFileSync(main, text);
    await expect.poll(() => verdictOf(server, key), { timeout: 20_000 }).not.toBe('good');
  });
});
