import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const BOTH = ['transfer', 'update'];

/** The zones, keys, scopes and p95 limit of the rows for BIND, Knot DNS and NSD. */
const MANY = { zones: 5000, keys: 1000, scopes: ['POOL', 'ZONE'], limitMs: 1000 };
const BIND = { ...MANY, brand: 'BIND' };
const POWERDNS = { brand: 'PowerDNS', zones: 1000, keys: 10, scopes: ['POOL'], limitMs: 2000 };

const TRANSFERS = ['transfer'];

/**
 * The rows to measure. `ownLists` is the number of BIND zones that name access lists for this one
 * zone. The other zones name only the access lists for all zones. Keys with the scope `ZONE` belong
 * to the former zones. `zoneLists` is the option of the driver. With `all`, the first key file
 * defines the access lists of every zone. Otherwise, the file defines only the access lists that
 * zones name.
 */
export const ROWS = [
  ...[
    { ownLists: 1000, rights: TRANSFERS, zoneLists: 'keys' },
    { ownLists: 1000, rights: BOTH, zoneLists: 'keys' },
    { ownLists: 1000, rights: BOTH, zoneLists: 'all' },
    { ownLists: 5000, rights: TRANSFERS, zoneLists: 'transfer' },
    { ownLists: 5000, rights: TRANSFERS, zoneLists: 'all' },
    { ownLists: 5000, rights: BOTH, zoneLists: 'all' },
  ].map((row) => ({
    ...BIND,
    name: `BIND, ${row.rights.join(' and ')}, ${row.ownLists} zones with own lists, zoneLists ${row.zoneLists}`,
    ...row,
  })),
  { ...MANY, name: 'Knot, transfer and update', brand: 'Knot', rights: BOTH },
  { ...MANY, name: 'NSD, transfer', brand: 'NSD', rights: TRANSFERS },
  ...[undefined, 1].flatMap((synchronous) =>
    [TRANSFERS, BOTH].map((rights) => ({
      ...POWERDNS,
      name: `PowerDNS, ${rights.join(' and ')}, synchronous ${synchronous ?? 2}`,
      rights,
      synchronous,
    })),
  ),
];

/** Returns `brand` with the configuration and the driver options of a row. */
export function brandOf(brand, { rights, ownLists, zoneLists, synchronous }) {
  return {
    ...brand,
    configure(folder, port, controlPort, zones) {
      brand.configure(folder, port, controlPort, zones);
      if (ownLists !== undefined) {
        const owners = new Set(zones.slice(0, ownLists));
        const isNamed = (right, zone) => owners.has(zone) && rights.includes(right);
        nameLists(join(folder, 'named.conf'), isNamed, rights);
        if (zoneLists !== 'all') defineLists(join(folder, 'keys', 'tsigil.conf'), isNamed);
      }
      if (synchronous !== undefined)
        appendFileSync(join(folder, 'pdns.conf'), `gsqlite3-pragma-synchronous=${synchronous}\n`);
    },
    options: (server) => ({
      ...brand.options(server),
      ...(zoneLists === undefined ? {} : { zoneLists }),
    }),
  };
}

/**
 * Removes the access lists of single zones from `named.conf`, except those that `isNamed` selects.
 */
function nameLists(file, isNamed, rights) {
  const text = readFileSync(file, 'utf8')
    .replaceAll(/ "tsigil-(transfer|update)-([^"]+)";/g, (list, right, zone) =>
      isNamed(right, zone) ? list : '',
    )
    .replaceAll(/^ {2}allow-update .*\n/gm, (line) => (rights.includes('update') ? line : ''));
  writeFileSync(file, text);
}

/**
 * Removes the access lists of single zones from the key file, except those that `isNamed` selects.
 */
function defineLists(file, isNamed) {
  const text = readFileSync(file, 'utf8').replaceAll(
    /^acl "tsigil-(transfer|update)-([^"]+)" .*\n/gm,
    (statement, right, zone) => (isNamed(right, zone) ? statement : ''),
  );
  writeFileSync(file, text);
}
