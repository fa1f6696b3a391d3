import { ServiceError } from '../errors.ts';
import { certbot, certManagerSecret, lego } from './certificate-tools.ts';
import { canonicalKey, keyProblems, type Key } from './key.ts';
import { bind, knot, nsd, powerdns } from './name-servers.ts';
import { dnspython, knsupdate, nsupdate } from './query-tools.ts';
import type { KeyWriter } from './writer.ts';
import { dnscontrol, externalDns, octodns, terraform } from './zone-tools.ts';

/** Every form in which a key can be written, by name. */
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

/** A key written out. */
export interface KeyFile {
  readonly text: string;
  readonly mediaType: string;
  /** A name that every file system takes. */
  readonly fileName: string;
}

/** The form of this name. Throws `bad_request`. */
export function findFormat(name: string): KeyWriter {
  const format = Object.hasOwn(EXPORT_FORMATS, name) ? EXPORT_FORMATS[name] : undefined;
  if (format === undefined) throw new ServiceError('bad_request', `format must be one of ${Object.keys(EXPORT_FORMATS).join(', ')}`);
  return format;
}

/** Why the consumer of `format` could not use the key: an empty list for one that it takes. */
export function exportProblems(format: KeyWriter, key: Key): string[] {
  const problems = keyProblems(key);
  if (problems.length > 0 || format.algorithms.includes(key.algorithm)) return problems;
  return [`${format.consumer} does not take ${key.algorithm}: it ${format.algorithmNote ?? `takes ${format.algorithms.join(', ')}`}`];
}

/**
 * The key in the form of this name. Names and secrets that are not what they should be are refused rather than escaped, so
 * nothing in them can be read as anything but a name and a secret. Throws `bad_request`, `not_exportable`.
 */
export function exportKey(formatName: string, key: Key): KeyFile {
  const format = findFormat(formatName);
  const problems = exportProblems(format, key);
  if (problems.length > 0) throw new ServiceError('not_exportable', `The key cannot be used in this form: ${problems.join('; ')}`);
  const canonical = canonicalKey(key);
  return { text: format.write(canonical), mediaType: format.mediaType, fileName: `${canonical.name.slice(0, 200)}.${format.extension}` };
}
