import { matrixOf, saysUses, type Matrix } from '../../domain/access/access.ts';
import type { ServerConfiguration } from '../../domain/access/access.ts';
import { isOwnKey } from '../../domain/brands/brands.ts';
import type { Key } from '../../domain/key-formats/key.ts';
import { OWN_KEY } from '../../domain/key-formats/read-bind.ts';
import { KeyFileError, type ReadIncluded } from '../../domain/key-formats/reader.ts';
import { detectFormat, IMPORT_FORMATS } from '../../domain/key-formats/readers.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';

export interface KeyInFile {
  /** The name in comparison form. */
  readonly name: string;
  readonly key: Key;
}

/** What the import reads in a configuration. It contains secrets. */
export interface Configuration {
  readonly keys: readonly KeyInFile[];
  /** What is no key to import, and why. */
  readonly leftOut: readonly string[];
  /** The files that it includes. They may refuse a key, so nothing is imported without them. */
  readonly missing: readonly string[];
  /** What its keys open. Absent if it says nothing about where they are used. */
  readonly matrix?: Matrix;
}

type ReadAccess = (text: string, include: ReadIncluded, path: string) => ServerConfiguration;

/** The readers of access lists, each of which is loaded when a text needs it. */
const ACCESS_READERS: Readonly<Record<string, () => Promise<ReadAccess>>> = {
  bind: async () => (await import('../../domain/access/bind.ts')).readBindAccess,
  dhcpd: async () => (await import('../../domain/access/dhcpd.ts')).readDhcpdAccess,
  knot: async () => (await import('../../domain/access/knot.ts')).readKnotAccess,
  nsd: async () => (await import('../../domain/access/nsd.ts')).readNsdAccess,
};

const PATH = 'pasted text';

const UNKNOWN_FORMAT =
  'no keys in a form that Tsigil knows: named.conf, knot.conf, nsd.conf, dhcpd.conf, the output of pdnsutil list-tsig-keys, or lines such as hmac-sha256:name:secret';

/**
 * Reads a configuration that somebody pasted. Throws `KeyFileError` for a text that cannot be parsed,
 * or has an unknown format.
 */
export async function readConfiguration(text: string): Promise<Configuration> {
  const format = detectFormat(text) ?? '';
  const reader = IMPORT_FORMATS[format];
  if (reader === undefined) throw new KeyFileError(PATH, UNKNOWN_FORMAT);
  const missing = new Set<string>();
  const include: ReadIncluded = ({ pattern, line }) => {
    missing.add(`${pattern} (line ${line})`);
    return [];
  };
  const keys = new Map<string, KeyInFile>();
  const leftOut: string[] = [];
  for (const entry of reader.read(text, include, PATH)) {
    const place = `Line ${entry.line}`;
    if (!('key' in entry)) {
      leftOut.push(`${place}: ${'problem' in entry ? entry.problem : entry.leftOut}`);
      continue;
    }
    const name = comparisonForm(entry.key.name);
    if (isOwnKey(name)) leftOut.push(`${place}: ${entry.key.name}: ${OWN_KEY}`);
    else if (keys.has(name)) leftOut.push(`${place}: ${entry.key.name} is defined twice`);
    else keys.set(name, { name, key: entry.key });
  }
  const found = { keys: [...keys.values()], leftOut };
  const read = (await ACCESS_READERS[format]?.())?.(text, include, PATH);
  const result = { ...found, missing: [...missing] };
  if (read === undefined || missing.size > 0 || !saysUses(read)) return result;
  const own = read.keys.filter(({ key }) => keys.has(comparisonForm(key.name)));
  return { ...result, matrix: matrixOf({ ...read, keys: own, unread: [] }) };
}
