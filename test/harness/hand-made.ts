import { randomBytes } from 'node:crypto';
import type { Key } from '../../src/dns/tsig-key.ts';
import type { Brand } from './brands/brand.ts';
import { BRANDS } from './brands/brands.ts';
import { powerdns } from './brands/powerdns.ts';
import { recordSecret } from './evidence.ts';

/** The zones of hand-made servers. */
export const HAND_ZONES = ['a.test', 'b.test', 'c.test', 'd.test'];

/** The keys of hand-made servers. */
export const HAND_KEYS = Array.from({ length: 30 }, (_, index): Key => {
  const secret = randomBytes(32).toString('base64');
  recordSecret(secret);
  return { name: `k${index + 1}`, algorithm: 'hmac-sha256', secret };
});

const MANY = HAND_KEYS.slice(4).map(({ name }) => name);

/**
 * Returns a brand whose operator has made its keys and lists. If it has a file of Tsigil's, the
 * configuration does not include it.
 */
function handMade(brand: Brand): Brand {
  return {
    ...brand,
    configure(folder, port, controlPort) {
      brand.configure(folder, port, controlPort, HAND_ZONES);
      brand.replaceByHand(folder, { zones: HAND_ZONES, keys: HAND_KEYS, many: MANY });
    },
    ready: () => Promise.resolve(),
  };
}

/** PowerDNS, with the rights of the keys in the metadata of zones. */
export const handMadePowerdns = handMade(powerdns);

/** Servers with files, and the same keys and, as far as they have them, rights. */
export const HAND_MADE = BRANDS.filter(({ include }) => include !== undefined).map(handMade);
