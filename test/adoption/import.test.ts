import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KeptRow, OpenRow } from '../../src/access/access.ts';
import { RIGHTS } from '../../src/access/rights.ts';
import type { NameServer } from '../../src/net/dns.ts';
import { runInside } from '../cli/session.ts';
import { isPermitted } from '../harness/access.ts';
import {
  createZones,
  deliveries,
  delivering,
  startDeliveryServer,
  type DeliveryServer,
} from '../harness/delivery.ts';
import { type SigningKey } from '../harness/dns-tools.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import { SEARCHES } from '../harness/brands/searches.ts';
import { additionTo, SOURCES, type Search } from '../harness/random-access.ts';
import { itemsOf, POOL_ID, TSIGKEYS } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';
import { sized } from '../harness/sizes.ts';

const OTHER_ZONES = [...ZONES, ...Array.from({ length: 18 }, (_, index) => `z${index}.test`)];

/** What a name server may be asked, as one text. */
const requestOf = (right: string, zone: string, key = '', source = SOURCES[0]) =>
  [right, zone, key, source].join(' ');

/** Returns the requests that a name server permits. */
async function permitted(
  server: NameServer,
  zones: readonly string[],
  keys: readonly SigningKey[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const zone of zones)
    for (const right of RIGHTS)
      for (const key of [undefined, ...keys]) {
        const request = right === 'update' ? additionTo(zone) : undefined;
        await Promise.all(
          SOURCES.map(async (source) => {
            const ask = () => isPermitted(server, source, zone, right, key, request);
            // BIND may close a connection without a response while it is busy.
            if (await ask().catch(ask)) found.add(requestOf(right, zone, key?.name, source));
          }),
        );
      }
  return found;
}

/** Starts a name server as an operator has configured it by hand. */
function startBefore(
  { brand, configure }: Search,
  seed: number,
  zones: readonly string[],
): Promise<DrivenServer> {
  return startDrivenServer(
    {
      ...brand,
      configure(folder, port, controlPort) {
        const text = configure(seed, zones, folder, port, controlPort);
        // The server after the import has a key of this name that is not Tsigil's.
        const own = text.replace(/^key:\n {4}name: "Hand-Made.*\n.*\n.*\n/m, '');
        writeFileSync(join(folder, brand.main), own);
      },
      ready: () => Promise.resolve(),
    },
    zones,
  );
}

/** Imports the keys of a name server, and returns what the command prints about what stays. */
async function importFrom(
  { brand }: Search,
  { folder, controlPort }: DrivenServer,
  { url, token }: TestService,
): Promise<{ left_in_configuration: readonly KeptRow[]; open: readonly OpenRow[] }> {
  const isApi = brand.driver === 'powerdns';
  const variables = {
    TSIGIL_URL: url,
    TSIGIL_TOKEN: token,
    ...(isApi ? { PDNS_API_KEY: readFileSync(join(folder, 'api-key'), 'utf8') } : {}),
  };
  const source = isApi
    ? ['--from-powerdns', `http://127.0.0.1:${controlPort}`]
    : [join(folder, brand.main)];
  const { status, out, err } = await runInside(
    { variables },
    'tsigkey',
    'import',
    ...source,
    '--pool',
    POOL_ID,
    '-f',
    'json',
  );
  expect(status, out + err).toBe(0);
  return JSON.parse(out) as Awaited<ReturnType<typeof importFrom>>;
}

async function untilDelivered(service: TestService): Promise<void> {
  for (const { id } of itemsOf(await service.get('/v2/tsigkeys'), TSIGKEYS))
    await expect
      .poll(async () => (await deliveries(service, id)).state, { timeout: 120_000 })
      .toBe('delivered');
}

describe.each(SEARCHES)('$brand.name', (search) => {
  const { brand, keys, zones = OTHER_ZONES } = search;
  const isInstalled = brand.isInstalled();

  test.skipIf(!isInstalled).each(Array.from({ length: sized(1, 4) }, (_, seed) => seed))(
    'after import and delivery, each key may do what it could before, except what the summary says, seed %i',
    { timeout: 180_000 },
    async (seed) => {
      const before = await startBefore(search, seed, zones);
      onTestFinished(() => before.remove());
      const former = await permitted(before.address, zones, keys);

      const after: DeliveryServer = await startDeliveryServer(brand, 'ns1', [
        ...new Set([...ZONES, ...zones]),
      ]);
      onTestFinished(() => after.remove());
      const service = await startTestService(delivering(after));
      onTestFinished(() => service.close());
      await createZones(service, zones);
      const { left_in_configuration: kept, open } = await importFrom(search, before, service);
      await untilDelivered(service);
      const now = await permitted(after.address, zones, keys);

      expect([...now].filter((each) => !former.has(each))).toEqual([]);
      const isStated = (request: string) => {
        const [right = '', zone = '', key = '', source] = request.split(' ');
        const isIn = (row: KeptRow | OpenRow) => row.right === right && row.zones.includes(zone);
        return (
          kept.some((row) => row.key === key && isIn(row)) ||
          (open.some(isIn) && former.has(requestOf(right, zone, '', source)))
        );
      };
      expect([...former].filter((each) => !now.has(each) && !isStated(each))).toEqual([]);

      if (seed === 0) expect(now.size).toBeGreaterThan(0);
    },
  );
});
