import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const BOTH = ['transfer', 'update'];

/** What all rows of a program have in common: zones, keys, scopes, and the limit of p95. */
const MANY = { zones: 5000, keys: 1000, scopes: ['POOL', 'ZONE'], limitMs: 1000 };
const BIND = { ...MANY, brand: 'BIND' };
const POWERDNS = { brand: 'PowerDNS', zones: 1000, keys: 10, scopes: ['POOL'], limitMs: 2000 };

/**
 * What is measured. `ownLists` is how many zones of BIND name lists of their own; the others name
 * only the lists for all zones. The keys for one zone are in these zones.
 */
export const ROWS = [
  {
    ...BIND,
    name: 'BIND, transfers, own lists in 1000 zones',
    rights: ['transfer'],
    ownLists: 1000,
  },
  { ...BIND, name: 'BIND, both rights, own lists in 1000 zones', rights: BOTH, ownLists: 1000 },
  {
    ...BIND,
    name: 'BIND, transfers, own lists in all zones',
    rights: ['transfer'],
    ownLists: 5000,
  },
  { ...BIND, name: 'BIND, both rights, own lists in all zones', rights: BOTH, ownLists: 5000 },
  { ...MANY, name: 'Knot, both rights', brand: 'Knot', rights: BOTH },
  { ...MANY, name: 'NSD, transfers', brand: 'NSD', rights: ['transfer'] },
  { ...POWERDNS, name: 'PowerDNS, transfers', rights: ['transfer'] },
  { ...POWERDNS, name: 'PowerDNS, both rights', rights: BOTH },
  { ...POWERDNS, name: 'PowerDNS, transfers, synchronous=1', rights: ['transfer'], synchronous: 1 },
  { ...POWERDNS, name: 'PowerDNS, both rights, synchronous=1', rights: BOTH, synchronous: 1 },
];

/** Returns a brand of name servers whose configuration has what a row states. */
export function brandOf(brand, { rights, ownLists, synchronous }) {
  return {
    ...brand,
    configure(folder, port, controlPort, zones) {
      brand.configure(folder, port, controlPort, zones);
      if (ownLists !== undefined) nameLists(join(folder, 'named.conf'), rights, zones, ownLists);
      if (synchronous !== undefined)
        appendFileSync(join(folder, 'pdns.conf'), `gsqlite3-pragma-synchronous=${synchronous}\n`);
    },
  };
}

/** Leaves the lists of one zone only in the first zones, and lists for updates only with the right. */
function nameLists(file, rights, zones, ownLists) {
  const owners = new Set(zones.slice(0, ownLists));
  const text = readFileSync(file, 'utf8')
    .replaceAll(/ "tsigil-(?:transfer|update)-([^"]+)";/g, (list, zone) =>
      owners.has(zone) ? list : '',
    )
    .replaceAll(/^ {2}allow-update .*\n/gm, (line) => (rights.includes('update') ? line : ''));
  writeFileSync(file, text);
}
