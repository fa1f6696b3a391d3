import { isIP } from 'node:net';
import { isRelativeName, withoutFinalDot } from './dns-name.ts';

const DNS_PORT = 53;

interface DnsAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns the host and the port of an address such as `[2001:db8::1]:5300`, or undefined. */
export function parseDnsAddress(address: string): DnsAddress | undefined {
  if (isIP(address) === 6) return { host: address, port: DNS_PORT };
  const [, bracketed, plain = '', digits = String(DNS_PORT)] =
    /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([^:\s]{1,254}))(?::(\d{1,5}))?$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  const isHost =
    bracketed === undefined
      ? isIP(plain) === 4 || isRelativeName(withoutFinalDot(plain))
      : isIP(bracketed) === 6;
  return isHost && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

export function dnsAddressProblem(address: string): string | undefined {
  return parseDnsAddress(address) === undefined
    ? 'must be a host or host:port, with brackets around an IPv6 address before a port'
    : undefined;
}
