import { TITLES } from '../brands.ts';

/** A format in which the service exports keys, and the ends of a connection that can read it. */
interface Format {
  readonly name: string;
  readonly label: string;
  readonly isServer?: boolean;
  readonly ends: readonly ('primary' | 'secondary')[];
}

const CLIENTS = [
  ['nsupdate', 'nsupdate and dig'],
  ['knsupdate', 'knsupdate and kdig'],
  ['dnspython', 'dnspython'],
  ['external-dns', 'ExternalDNS'],
  ['cert-manager', 'cert-manager'],
  ['certbot', 'Certbot'],
  ['lego', 'lego'],
  ['caddy', 'Caddy'],
  ['acme-sh', 'acme.sh'],
  ['octodns', 'octoDNS'],
  ['terraform', 'Terraform'],
  ['dnscontrol', 'DNSControl'],
  ['kea', 'Kea DDNS'],
] as const;

export const FORMATS: readonly Format[] = [
  ...TITLES.map(([name, label]) => ({
    name,
    label,
    isServer: true,
    ends: ['primary', 'secondary'] as const,
  })),
  { name: 'coredns', label: 'CoreDNS', ends: ['primary'] },
  ...CLIENTS.map(([name, label]) => ({ name, label, ends: ['secondary'] as const })),
];
