import { BRANDS } from '../brands/brands.ts';
import { canonicalKey, keyProblems, type Key } from '../key-formats/key.ts';
import { holdsSeveral, type ExportFormat } from '../key-formats/writer.ts';
import { ServiceError } from '../model/errors.ts';
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

/** An exported key. */
export interface KeyFile {
  readonly text: string;
  /** A file name that is valid on every file system. */
  readonly fileName: string;
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

/**
 * Returns the reasons why the consumer of `format` cannot use the key. The list is empty if the
 * consumer can use the key.
 */
export function exportProblems(format: ExportFormat, key: Key): string[] {
  const problems = keyProblems(key);
  if (problems.length > 0 || format.algorithms.includes(key.algorithm)) return problems;
  return [
    `${format.consumer} cannot use ${key.algorithm}. Use one of: ${format.algorithms.join(', ')}`,
  ];
}

/**
 * Returns the key in the format with this name. Rejects invalid names and secrets instead of
 * escaping them, so that a key cannot inject text into the output. Throws `bad_request` for an
 * unknown format, and `not_exportable` for a key that the format's consumer cannot use.
 */
export function exportKey(formatName: string, key: Key): KeyFile {
  const text = exportKeys(formatName, [key]);
  const { extension } = findFormat(formatName);
  return { text, fileName: `${canonicalKey(key).name.slice(0, 200)}.${extension}` };
}

/**
 * Returns keys as one text in the format with this name. Throws the errors of `exportKey`, and also
 * `bad_request` for several keys in a format whose files hold one key.
 */
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
