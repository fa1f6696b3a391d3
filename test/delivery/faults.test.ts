import { appendFileSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findOpenRights } from '../../src/net/probe.ts';
import { bind } from '../harness/brands/bind.ts';
import type { Brand } from '../harness/brands/brand.ts';
import { BRANDS } from '../harness/brands/brands.ts';
import { knot } from '../harness/brands/knot.ts';
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
import type { SmallFileSystem } from '../harness/file-systems.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { IS_LONG, sized } from '../harness/sizes.ts';
import { fillDisk, fitsOnSmallDisk, onSmallDisk } from '../harness/small-disk.ts';

/** A fault that the test causes in a name server. */
interface Fault {
  readonly name: string;
  readonly brands?: (brand: Brand) => boolean;
  /** The error codes that the status may show during the fault. */
  readonly codes: readonly string[];
  /** The state during the fault. The default is `failed`. */
  readonly state?: string;
  begin(server: DeliveryServer): unknown;
  end(server: DeliveryServer): unknown;
}

const hasFile = ({ include }: Brand) => include !== undefined;
const mainOf = ({ folder, brand }: DeliveryServer) => join(folder, brand.main);
const optionOf = (options: Record<string, unknown> | undefined) =>
  String(options?.controlKeyFile ?? options?.apiKeyFile);

const FAULTS: readonly Fault[] = [
  {
    name: 'is down',
    codes: ['unreachable'],
    begin: (server) => server.stop(),
    end: (server) => server.start(),
  },
  {
    name: 'is hung',
    codes: ['timeout', 'unreachable'],
    begin: (server) => server.signal('SIGSTOP'),
    end: (server) => server.signal('SIGCONT'),
  },
  {
    name: 'has a wrong control key',
    brands: ({ wrongKey }) => wrongKey !== undefined,
    codes: ['not_permitted'],
    begin(server) {
      const file = optionOf(server.brand.options(server));
      copyFileSync(file, `${file}.right`);
      copyFileSync(optionOf(server.brand.wrongKey?.(server)), file);
    },
    end(server) {
      const file = optionOf(server.brand.options(server));
      copyFileSync(`${file}.right`, file);
    },
  },
  {
    name: 'has a configuration without the include statement',
    brands: hasFile,
    codes: ['prepared'],
    state: 'prepared',
    begin(server) {
      const file = mainOf(server);
      copyFileSync(file, `${file}.right`);
      const { include } = server.brand;
      writeFileSync(file, include?.withoutInclude(readFileSync(file, 'utf8')) ?? '');
    },
    end(server) {
      const file = mainOf(server);
      copyFileSync(`${file}.right`, file);
    },
  },
  {
    name: 'has an invalid configuration',
    brands: hasFile,
    codes: ['refused_by_server'],
    begin(server) {
      const file = mainOf(server);
      copyFileSync(file, `${file}.right`);
      appendFileSync(file, '\nthis is no configuration {\n');
    },
    end(server) {
      const file = mainOf(server);
      copyFileSync(`${file}.right`, file);
    },
  },
  {
    name: 'has a full disk',
    brands: fitsOnSmallDisk,
    codes: ['not_writable'],
    begin: fillDisk,
    end: (server) => rmSync(join(server.folder, 'memory', '.full')),
  },
];

// The gate tests one brand, because the reconciler is the same for all.
const TESTED = (IS_LONG ? BRANDS : [bind]).filter((brand) =>
  [brand, otherThan(brand)].every((each) => each.isInstalled()),
);

/** Returns the brand of the working server. */
function otherThan(brand: Brand): Brand {
  return brand === knot ? bind : knot;
}

describe.each(TESTED)('a service with a failing $name server and a working server', (brand) => {
  let server: DeliveryServer;
  let other: DeliveryServer;
  let service: TestService;
  const disks: SmallFileSystem[] = [];

  beforeAll(async () => {
    server = await startDeliveryServer(onSmallDisk(brand, disks), 'ns1');
    other = await startDeliveryServer(otherThan(brand), 'other');
    service = await startTestService(delivering(server, other));
    await createZones(service);
    await untilLive(service, 'ns1', 'other');
  });
  afterAll(async () => {
    await service.close();
    for (const disk of disks) disk.remove();
    await server.remove();
    await other.remove();
  });

  /** Returns the delivery state of a key on a server. */
  const stateOn = async ({ name }: DeliveryServer, { id }: CreatedKey) =>
    (await deliveries(service, id, 0)).servers.find((each) => each.name_server === name)?.state;

  /** Creates a key and waits until the working server has the key. */
  const deliveredKey = async (name: string) => {
    const key = await createKey(service, name);
    await expect.poll(() => stateOn(other, key), { interval: 10 }).toBe('delivered');
    return key;
  };

  const faults = FAULTS.filter(({ brands }) => brands?.(brand) ?? true).slice(
    0,
    sized(1, FAULTS.length),
  );
  test.each(faults)(
    'that $name: the status shows the fault, the working server gets keys, and the other one after its recovery',
    async (fault) => {
      const slug = fault.name.replaceAll(' ', '-');
      const before = await deliveredKey(`${slug}-before`);
      await expect.poll(() => stateOn(server, before), { interval: 20 }).toBe('delivered');
      await fault.begin(server);
      const keys: CreatedKey[] = [];
      try {
        for (let index = 0; index < 3; index += 1)
          keys.push(await deliveredKey(`${slug}-${index}`));
        const { state = 'failed' } = fault;
        await expect.poll(() => shownServer(service)).toMatchObject({ state });
        const { error_code: code } = await shownServer(service);
        expect(fault.codes).toContain(code);
      } finally {
        await fault.end(server);
      }
      for (const key of keys) await expect.poll(() => stateOn(server, key)).toBe('delivered');
      const verdicts = await Promise.all([before, ...keys].map((key) => verdictOf(server, key)));
      expect(new Set(verdicts)).toEqual(new Set(['good']));
      expect(await findOpenRights({ server: server.address, zone: 'a.test' })).toEqual([]);
    },
  );
});
