import { ServiceError } from '../model/errors.ts';
import { certbot, certManagerSecret, lego } from './certificate-tools.ts';
import { canonicalKey, keyProblems, type Key } from './key.ts';
import { bind, knot, nsd, powerdns } from './name-servers.ts';
import { dnspython, knsupdate, nsupdate } from './query-tools.ts';
import type { KeyWriter } from './writer.ts';
import { dnscontrol, externalDns, octodns, terraform } from './zone-tools.ts';

/** Every export format, by name. */
export const EXPORT_FORMATS: Readonly<Record<string, KeyWriter>> = {
  bind,
  knot,
  nsd,
  powerdns,
  nsupdate,
  knsupdate,
  dnspython,
  'external-dns': externalDns,
  'cert-manager': certManagerSecret,
  certbot,
  lego,
  octodns,
  terraform,
  dnscontrol,
};

/** An exported key. */
export interface KeyFile {
  readonly text: string;
  readonly mediaType: string;
  /** A file name that is valid on every file system. */
  readonly fileName: string;
}

/** Returns the export format with this name. Throws `bad_request` if there is none. */
export function findFormat(name: string): KeyWriter {
  const format = Object.hasOwn(EXPORT_FORMATS, name) ? EXPORT_FORMATS[name] : undefined;
  if (format === undefined)
    throw new ServiceError(
      'bad_request',
      `format must be one of ${Object.keys(EXPORT_FORMATS).join(', ')}`,
    );
  return format;
}

/** Returns why the consumer of `format` cannot use the key. The list is empty if it can. */
export function exportProblems(format: KeyWriter, key: Key): string[] {
  const problems = keyProblems(key);
  if (problems.length > 0 || format.algorithms.includes(key.algorithm)) return problems;
  return [
    `${format.consumer} cannot use ${key.algorithm}. Use one of: ${format.algorithms.join(', ')}`,
  ];
}

/**
 * Returns the key in the format with this name. Rejects invalid names and secrets instead of
 * escaping them, so they cannot inject anything into the output. Throws `bad_request` for an
 * unknown format, and `not_exportable` for a key that its consumer cannot use.
 */
export function exportKey(formatName: string, key: Key): KeyFile {
  const format = findFormat(formatName);
  const problems = exportProblems(format, key);
  if (problems.length > 0) throw new ServiceError('not_exportable', problems);
  const canonical = canonicalKey(key);
  return {
    text: format.write(canonical),
    mediaType: format.mediaType,
    fileName: `${canonical.name.slice(0, 200)}.${format.extension}`,
  };
}
