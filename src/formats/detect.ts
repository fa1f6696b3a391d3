import { linesOf } from '../core/text/lines.ts';

/** What only the configuration of ISC DHCP has. */
const OF_DHCPD =
  /^[ \t]*(?:ddns-update-style|(?:default|max)-lease-time|omapi-(?:key|port))\s|^[ \t]*subnet6?\s+\S+\s+(?:netmask\s|\{)|^[ \t]*zone\s+\S+\s*\{(?:[^{}]*;)?\s*primary6?\s+[^\s;]/im;

/** A section or an item that only a Knot configuration has. */
const OF_KNOT =
  /^(?:acl|control|database|log|policy|remote|statistics|submission|template)[ \t]*:|^[ \t]*-[ \t]*(?:domain|id|target)[ \t]*:/m;

/** An attribute that only an NSD configuration has. */
const OF_NSD =
  /^[ \t]*(?:dnstap|ip-address|pattern|remote-control|server-count|tls-auth|verify|zonefile|zonesdir):/m;

const isDhcpd = (text: string) => OF_DHCPD.test(text.replaceAll(/\/\*[^]*?(?:\*\/|$)/g, ''));

/**
 * Returns whether a text appears to be in an import format, by its name. Detection tries the formats
 * in this order, so the most distinctive formats come first.
 */
const RECOGNISES = {
  bind: (text) =>
    !isDhcpd(text) &&
    (/(?:^|[\s;{}/])key\s+(?:"[^"\n]*"|[^\s"{};]+)\s*\{/i.test(text) ||
      /(?:^|[\s;{}/])include\s+"[^"\n]*"\s*;/i.test(text)),
  knot: (text) =>
    (/^key:/m.test(text) && /^[ \t]*-[ \t]*id[ \t]*:/m.test(text)) ||
    (/^include[ \t]*:/m.test(text) && OF_KNOT.test(text)),
  nsd: (text) =>
    (/^[ \t]*key:/m.test(text) && /(?:^|\s)name:/.test(text)) ||
    (/^[ \t]*include:/m.test(text) && OF_NSD.test(text)),
  pdnsutil: (text) => linesOf(text).some((line) => /^\S+ hmac-\S+ \S+$/i.test(line.trim())),
  lines: (text) => linesOf(text).some((line) => /^[^\s:#]+:[^\s:]+:[^\s:]+$/.test(line.trim())),
  dhcpd: isDhcpd,
} satisfies Record<string, (text: string) => boolean>;

export type ImportFormat = keyof typeof RECOGNISES;

const FORMATS = Object.keys(RECOGNISES) as ImportFormat[];

export function detectFormat(text: string): ImportFormat | undefined {
  return FORMATS.find((format) => RECOGNISES[format](text));
}
