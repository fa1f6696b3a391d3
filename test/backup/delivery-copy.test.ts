import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { bind } from '../harness/brands/bind.ts';
import type { Brand } from '../harness/brands/brand.ts';
import { powerdns } from '../harness/brands/powerdns.ts';
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
import {
  cleanEnvironment,
  PROGRAM,
  startServiceProcess,
  TEST_MASTER_KEY,
  temporaryFolder,
  testDatabase,
  type ServiceProcess,
} from '../harness/service.ts';

/** The master key of services on PostgreSQL. */
const KEY = { TSIGIL_ENCRYPTION_MASTER_KEY: TEST_MASTER_KEY };

const brands: readonly Brand[] = [powerdns, bind].filter((brand) => brand.isInstalled());

describe.each(brands)('after copy-database with a $name server', (brand) => {
  const ended: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ended.splice(0).toReversed()) await end();
  });

  test('the target removes a key that was deleted while the name server was down, and delivers a changed secret', async () => {
    const folder = temporaryFolder();
    const other = temporaryFolder();
    ended.push(() => [folder, other].forEach((each) => rmSync(each, { recursive: true })));
    const server: DeliveryServer = await startDeliveryServer(brand);
    ended.push(() => server.remove());
    const token = 'copy-token-0123456789-0123456789abcdef';
    const serve = async (database: string): Promise<ServiceProcess> => {
      const variables = { TSIGIL_DATABASE_URL: database, TSIGIL_ADMIN_TOKEN: token };
      const started = await startServiceProcess(folder, { ...variables, ...delivering(server) });
      ended.push(() => started.stop('SIGTERM'));
      return started;
    };
    const source = `sqlite:${join(folder, 'source.db')}`;
    const target = await testDatabase(other);
    let service = await serve(source);
    await createZones(service);
    await untilLive(service);
    const [gone, changed, kept] = [
      await createKey(service, 'gone'),
      await createKey(service, 'changed'),
      await createKey(service, 'kept'),
    ];
    const delivered = async (...keys: readonly { readonly id: string }[]) => {
      for (const { id } of keys)
        await expect
          .poll(async () => (await deliveries(service, id)).state, { timeout: 120_000 })
          .toBe('delivered');
    };
    await delivered(gone, changed, kept);

    await server.stop();
    await service.delete(`/v2/tsigkeys/${gone.id}`);
    const secret = Buffer.from('another secret of the same key!!').toString('base64');
    await service.patch(`/v2/tsigkeys/${changed.id}`, { secret });
    const late = await createKey(service, 'late');
    expect(await deliveries(service, late.id, 1)).not.toMatchObject({ state: 'delivered' });
    await service.stop('SIGTERM');
    await server.start();
    const former = await Promise.all([gone, changed, kept].map((key) => verdictOf(server, key)));
    expect(former).toEqual(['good', 'good', 'good']);

    await promisify(execFile)(
      process.execPath,
      [PROGRAM, 'copy-database', '--from', source, '--to', target],
      { cwd: folder, env: cleanEnvironment(target.startsWith('postgres') ? KEY : {}) },
    );
    service = await serve(target);
    await delivered(changed, kept, late);
    await untilLive(service);
    const now = [gone, changed, { ...changed, secret }, kept, late];
    expect(await Promise.all(now.map((key) => verdictOf(server, key)))).toEqual([
      expect.not.stringMatching('good'),
      expect.not.stringMatching('good'),
      'good',
      'good',
      'good',
    ]);
    // The target is the owner of the keys: nothing is held, and nothing counts as foreign.
    expect(await shownServer(service)).toMatchObject({ state: 'live', keys_live: 3, error: null });
  });
});
