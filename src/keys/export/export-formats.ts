import { isIP } from 'node:net';
import { BRANDS } from '../../brands/brands.ts';
import { canonicalKey, keyProblems, type Key } from '../../formats/key.ts';
import { holdsSeveral, type ExportFormat, type Primary } from '../../formats/writer.ts';
import { ServiceError } from '../../core/errors.ts';
import { parseDnsAddress } from '../../core/text/dns-address.ts';
import { isRelativeName, toAsciiName, withoutFinalDot } from '../../core/text/dns-name.ts';
import { acmeSh, caddy, certbot, certManagerSecret, lego } from './certificate-tools.ts';
import { dnspython, knsupdate, nsupdate } from './query-tools.ts';
import { coredns, dnscontrol, externalDns, kea, octodns, terraform } from './zone-tools.ts';

/** Every export format, by name. Each brand of name server has a format with its name. */
export const EXPORT_FORMATS: Readonly<Record<string, ExportFormat>> = {
  ...Object.fromEntries(Object.entries(BRANDS).map(([name, { exports }]) => [name, exports])),
  coredns,
  nsupdate,
  knsupdate,
  dnspython,
  'external-dns': externalDns,
  'cert-manager': certManagerSecret,
  certbot,
  lego,
  caddy,
  'acme-sh': acmeSh,
  octodns,
  terraform,
  dnscontrol,
  kea,
};

export interface KeyFile {
  readonly text: string;
  /** A file name that is valid on every file system. */
  readonly fileName: string;
}

/** The sides of a transfer for which a key can be exported. */
export const SIDES = ['primary', 'secondary'] as const;

/** Whom a text is for: the side that accepts requests, or a secondary of the server `primary`. */
interface Receiver {
  readonly for?: (typeof SIDES)[number] | undefined;
  /** An IPv4 or IPv6 address, also with a port, as in `[2001:db8::1]:5300`. */
  readonly primary?: string | undefined;
  readonly zone?: string | undefined;
}

const SECONDARY_FORMATS = Object.entries(EXPORT_FORMATS).flatMap(([name, { writeSecondary }]) =>
  writeSecondary === undefined ? [] : [name],
);

/**
 * Returns the primary server of a secondary, or undefined for the side that accepts requests. Throws
 * `bad_request` for members that do not fit together or the format.
 */
export function readPrimary(
  formatName: string,
  { for: side = 'primary', primary, zone }: Receiver,
): Primary | undefined {
  if (side === 'primary') {
    if (primary === undefined && zone === undefined) return undefined;
    throw new ServiceError('bad_request', 'primary and zone need for=secondary');
  }
  if (findFormat(formatName).writeSecondary === undefined)
    throw new ServiceError(
      'bad_request',
      `for=secondary needs one of the formats ${SECONDARY_FORMATS.join(', ')}`,
    );
  const address = primary === undefined ? undefined : parseDnsAddress(primary);
  if (address === undefined || isIP(address.host) === 0)
    throw new ServiceError(
      'bad_request',
      'for=secondary needs primary: an IPv4 or IPv6 address, with a port as in 192.0.2.53:5300 or [2001:db8::53]:5300',
    );
  const name = zone === undefined ? undefined : zoneName(zone);
  if (zone !== undefined && name === undefined)
    throw new ServiceError('bad_request', 'zone must be a domain name');
  return { ...address, zone: name };
}

/**
 * Returns the name of a zone in lower case, without the final dot, or undefined for a name with
 * characters that could end a word of a command.
 */
function zoneName(zone: string): string | undefined {
  // The first label of a reverse zone may be 0/25 (RFC 2317).
  const [, range = '', rest = ''] = /^(\d{1,3}\/\d{1,2}\.)?(.+)$/.exec(zone) ?? [];
  const name = toAsciiName(withoutFinalDot(rest))?.toLowerCase();
  return name !== undefined && isRelativeName(name) && /^[\w.-]+$/.test(name)
    ? range + name
    : undefined;
}

function secondaryText(format: ExportFormat, key: Key, primary: Primary): string {
  const problems = exportProblems(format, key);
  if (problems.length > 0) throw new ServiceError('not_exportable', problems);
  return format.writeSecondary?.(canonicalKey(key), primary) ?? '';
}

/** Returns the export format with this name. Throws `bad_request` for an unknown name. */
export function findFormat(name: string): ExportFormat {
  const format = Object.hasOwn(EXPORT_FORMATS, name) ? EXPORT_FORMATS[name] : undefined;
  if (format === undefined)
    throw new ServiceError(
      'bad_request',
      `format must be one of ${Object.keys(EXPORT_FORMATS).join(', ')}`,
    );
  return format;
}

/** Why the consumer of `format` cannot use the key. Empty if it can. */
export function exportProblems(format: ExportFormat, key: Key): string[] {
  const problems = keyProblems(key);
  if (problems.length > 0 || format.algorithms.includes(key.algorithm)) return problems;
  return [
    `${format.consumer} cannot use ${key.algorithm}. Use one of: ${format.algorithms.join(', ')}`,
  ];
}

/**
 * Rejects invalid names and secrets instead of escaping them, so that a key cannot inject text into
 * the output. `primary`, from `readPrimary`, makes it a text for a secondary server. Throws
 * `bad_request` for an unknown format, and `not_exportable` for a key that the consumer cannot use.
 */
export function exportKey(formatName: string, key: Key, primary?: Primary): KeyFile {
  const format = findFormat(formatName);
  const { extension } = format;
  const text =
    primary === undefined ? exportKeys(formatName, [key]) : secondaryText(format, key, primary);
  return { text, fileName: `${canonicalKey(key).name.slice(0, 200)}.${extension}` };
}

/** Throws like `exportKey`, and `bad_request` for several keys in a format of one key each. */
export function exportKeys(formatName: string, keys: readonly Key[]): string {
  const format = findFormat(formatName);
  const problems = keys.flatMap((key) => exportProblems(format, key));
  if (problems.length > 0) throw new ServiceError('not_exportable', problems);
  const canonical = keys.map(canonicalKey);
  if (holdsSeveral(format)) return format.writeAll(canonical);
  const [only, ...others] = canonical;
  if (only === undefined || others.length > 0)
    throw new ServiceError(
      'bad_request',
      `a file in the format ${formatName} can hold only one key`,
    );
  return format.write(only);
}
