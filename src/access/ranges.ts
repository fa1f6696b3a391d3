import { isIP } from 'node:net';
import { addressOf, prefixOf, type Family, type Range } from './access.ts';

/**
 * Returns the addresses that a text such as `192.0.2.1`, `192.0.2.0/24` or `192.0.2.1-192.0.2.9`
 * names, or undefined. Bits after the prefix are ignored, as name servers do.
 */
export function readRange(text: string): Range | undefined {
  const [from = '', to, ...others] = text.split('-');
  if (others.length > 0) return undefined;
  if (to !== undefined) {
    if (isIP(from) === 0 || isIP(from) !== isIP(to)) return undefined;
    const { family, value } = addressOf(from);
    return { family, first: value, last: addressOf(to).value };
  }
  const [address = '', length, ...more] = from.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || address.includes('%') || more.length > 0) return undefined;
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined;
  const prefix = Number(length ?? bits);
  return prefix > bits ? undefined : prefixOf(addressOf(address), prefix);
}

/**
 * Returns the families of the addresses on which a server listens, or undefined if they are
 * unknown. The address `::` may also accept IPv4.
 */
export function familiesOf(addresses: readonly string[]): readonly Family[] | undefined {
  const versions = addresses.map((each) => isIP(each));
  if (versions.length === 0 || versions.includes(0) || addresses.includes('::')) return undefined;
  if (!versions.includes(6)) return [4];
  return versions.includes(4) ? undefined : [6];
}
