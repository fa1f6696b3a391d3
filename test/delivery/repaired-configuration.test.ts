import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Brand } from '../harness/brands/brand.ts';
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
import { IS_LONG, sized } from '../harness/sizes.ts';

const INSTALLED = BRANDS.filter((brand) => brand.include !== undefined && brand.isInstalled());

/**
 * Whether the service can read the configuration of the name server. BIND states which file it is,
 * and NSD has more than one fault after a fault in a file that the service cannot read.
 */
const readable = ({ name }: Brand) => (IS_LONG && name === 'Knot' ? [true, false] : [true]);

describe.each(INSTALLED)('a $name server with a faulty configuration', (brand) => {
  describe.each(readable(brand))('that the service can read: %s', (isReadable) => {
    let server: DeliveryServer;
    let service: TestService;
    let count = 0;

    beforeAll(async () => {
      server = await startDeliveryServer(brand);
      const local = {
        ...brand.options(server),
        ...(isReadable ? {} : { configurationFile: '/nonexistent' }),
      };
      service = await startTestService(delivering({ entry: { ...server.entry, local } }));
      await createZones(service);
      await untilLive(service);
    });
    afterAll(async () => {
      await service.close();
      await server.remove();
    });

    /** Changes the configuration, and returns a function that repairs it. */
    const change = (edit: (text: string) => string) => {
      const file = join(server.folder, brand.include?.main ?? '');
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, edit(text));
      return () => writeFileSync(file, text);
    };

    const passes = async () => {
      const { text } = await service.get('/metrics');
      const counts = text.matchAll(/^tsigil_delivery_passes_total\{name_server="ns1",.*\} (\d+)/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    };

    const faults = [
      {
        fault: 'invalid',
        edit: (text: string) => `${text}\nthis is no configuration {\n`,
        state: 'failed',
        code: 'refused_by_server',
      },
      {
        fault: 'without the file',
        edit: brand.include?.withoutInclude ?? String,
        ...(isReadable
          ? { state: 'pending', code: 'prepared' }
          : { state: 'failed', code: 'not_included' }),
      },
    ];
    test.each(faults.slice(0, sized(1, 2)))(
      'gets its keys after a repair, and is not asked again meanwhile: $fault',
      async ({ edit, state, code }) => {
        const repair = change(edit);
        const key = await createKey(service, `key-${(count += 1)}`);
        expect(await deliveries(service, key.id)).toMatchObject({
          state,
          servers: [{ error: { code } }],
        });
        expect(await shownServer(service)).toMatchObject({ keys_wanted: count });
        const lines = () => server.output().split('\n').length;
        const before = lines();
        const made = await passes();
        await expect.poll(passes).toBeGreaterThan(made + 3);
        expect(lines() - before).toBeLessThan(3);
        repair();
        await expect
          .poll(async () => (await deliveries(service, key.id, 1)).state)
          .toBe('delivered');
      },
    );
  });
});
