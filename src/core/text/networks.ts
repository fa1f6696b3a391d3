import { BlockList, isIP, isIPv6 } from 'node:net';
import { numberOf, textOf } from './ip-numbers.ts';

export interface Networks {
  /** The networks in their original spelling. */
  readonly list: readonly string[];
  includes(address: string | undefined): boolean;
}

/** Returns the set of the addresses and networks in `list`. Every item must be valid. */
export function networksOf(list: readonly string[]): Networks {
  // One list for both families would match IPv4 addresses with IPv6 networks such as ::/0.
  const networks = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const text of list) {
    const [address, prefix] = partsOf(text);
    const family = familyOf(address);
    const ofIPv4 = family === 'ipv4' || isMapped(address);
    networks[ofIPv4 ? 'ipv4' : 'ipv6'].addSubnet(address, prefix, family);
  }
  return {
    list,
    includes(address = '') {
      const [plain = ''] = address.split('%'); // without the zone (RFC 4007 section 11)
      const family = familyOf(plain);
      return networks[family].check(plain, family);
    },
  };
}

/** Returns whether every address of `network` belongs to one network of `list`. */
export function isCovered(network: string, list: readonly string[]): boolean {
  const [address, prefix] = partsOf(network);
  return list.some((other) => partsOf(other)[1] <= prefix && networksOf([other]).includes(address));
}

/** The problem with a network, worded to follow the name of the member. */
interface NetworkProblem {
  readonly problem: string;
}

const PROBLEM = 'must be an IP address or a network such as 192.0.2.0/24 or 2001:db8::/32';

/** The first address and the prefix length: `192.0.2.0/24`. An address is a network of one. */
export function readNetwork(text: string): { readonly value: string } | NetworkProblem {
  const [address = '', length, ...more] = text.split('/');
  const size = { 4: 32, 6: 128 }[isIP(address)];
  if (size === undefined || address.includes('%') || more.length > 0) return { problem: PROBLEM };
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) return { problem: PROBLEM };
  const prefix = Number(length ?? size);
  if (prefix > size) return { problem: PROBLEM };
  const number = numberOf(address);
  if (size === 128 && isMapped(address))
    return { problem: 'must use the IPv4 form of IPv4 addresses, such as 192.0.2.0/24' };
  const outside = BigInt(size - prefix);
  const first = textOf((number >> outside) << outside, size);
  return number === (number >> outside) << outside
    ? { value: `${first}/${prefix}` }
    : { problem: `must begin at the first address of the network: use '${first}/${prefix}'` };
}

function partsOf(network: string): readonly [address: string, prefix: number] {
  const [address = '', prefix] = network.split('/');
  return [address, Number(prefix ?? (isIPv6(address) ? 128 : 32))];
}

/** Returns whether `address` is an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2). */
function isMapped(address: string): boolean {
  return isIPv6(address) && numberOf(address) >> 32n === 0xffffn;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
