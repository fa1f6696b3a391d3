import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { addressOf, matrixOf, type ServerConfiguration } from '../../src/access/access.ts';
import { ACCESS_READERS } from '../../src/brands/access-readers.ts';
import { readPowerdns } from '../../src/keys/commands/powerdns.ts';
import { RIGHTS } from '../../src/access/rights.ts';
import { DRIVERS } from '../../src/brands/drivers.ts';
import { isPermitted } from '../harness/access.ts';
import { startDrivenServer, ZONES, type DrivenServer } from '../harness/driven-server.ts';
import type { Brand } from '../harness/brands/brand.ts';
import { SEARCHES } from '../harness/brands/searches.ts';
import { KEYS, SOURCES } from '../harness/random-access.ts';
import { sized } from '../harness/sizes.ts';

/** Reads the configuration of a running server, as its driver does. */
async function readRunning(brand: Brand, server: DrivenServer): Promise<ServerConfiguration> {
  const driver = DRIVERS[brand.driver]?.create(brand.options(server), '');
  const printed = await driver?.printed?.(AbortSignal.timeout(60_000));
  if (printed === undefined) throw new Error(`${brand.name} prints no configuration`);
  if ('apiKey' in printed) return (await readPowerdns(printed.url, printed.apiKey)).configuration;
  const configuration = ACCESS_READERS[printed.format]?.(printed.text, () => [], printed.program);
  if (configuration === undefined) throw new Error(`No reader is named ${printed.format}`);
  return configuration;
}

/** Returns what follows from a configuration for each zone, in any order of the zones. */
function factsOf(configuration: ServerConfiguration): string[] {
  const { rows, kept, open } = matrixOf(configuration);
  return [...rows, ...kept.map((row) => ({ ...row, place: undefined })), ...open]
    .map(({ zones, ...row }) => ({ zones, what: JSON.stringify(row) }))
    .flatMap(({ zones, what }) => zones.map((zone) => `${zone} ${what}`))
    .sort();
}

// BIND has tests of its own.
describe.each(SEARCHES.filter(({ brand }) => brand.driver !== 'bind'))(
  '$brand.name',
  ({ brand, configure, read }) => {
    const test_ = test.skipIf(!brand.isInstalled());

    test_.each(Array.from({ length: sized(3, 6) }, (_, seed) => seed))(
      'permits what its random access lists say, seed %i',
      { timeout: 300_000 },
      async (seed) => {
        const zones = [...ZONES, ...Array.from({ length: 38 }, (_, index) => `z${index}.test`)];
        let text = '';
        const server = await startDrivenServer(
          {
            ...brand,
            configure(folder, port, controlPort) {
              text = configure(seed, zones, folder, port, controlPort);
              writeFileSync(join(folder, brand.main), text);
            },
          },
          zones,
        );
        onTestFinished(() => server.remove());
        const configuration = await read(text, server);
        const matrix = matrixOf(configuration);
        expect(factsOf(await readRunning(brand, server))).toEqual(factsOf(configuration));
        const wrong: string[] = [];
        let yes = 0;
        for (const { name, lists } of configuration.zones)
          for (const right of RIGHTS) {
            const unsigned: boolean[] = [];
            for (const key of [undefined, ...KEYS]) {
              const actual = await Promise.all(
                SOURCES.map((source) => isPermitted(server.address, source, name, right, key)),
              );
              yes += actual.filter(Boolean).length;
              if (key === undefined) unsigned.push(...actual);
              const isLimited = lists[right]?.inexpressible?.has(key?.name ?? '') === true;
              const said = SOURCES.map(
                (source) =>
                  lists[right]?.permits({ address: addressOf(source), key: key?.name }) ?? false,
              );
              const what = `${right} of ${name} by ${key?.name ?? 'no key'}: ${actual.join()}`;
              if (!isLimited && said.join() !== actual.join())
                wrong.push(`${what}, not ${said.join()}`);
              if (key === undefined) continue;
              const isIn = (
                rows: readonly { key: string; right: string; zones: readonly string[] }[],
              ) =>
                rows.some(
                  (row) => row.key === key.name && row.right === right && row.zones.includes(name),
                );
              if (isIn(matrix.rows) && actual.includes(false))
                wrong.push(`${what}, but it is a grant`);
              const isMore = actual.some((yes, index) => yes && unsigned[index] !== true);
              if (isMore && !isIn(matrix.rows) && !isIn(matrix.kept))
                wrong.push(`${what}, but neither a grant nor kept`);
            }
          }
        expect(wrong).toEqual([]);
        expect(yes).toBeGreaterThan(0);
      },
    );
  },
);
