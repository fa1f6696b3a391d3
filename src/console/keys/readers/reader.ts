import {
  matrixOf,
  saysUses,
  type Matrix,
  type ServerConfiguration,
} from '../../../access/access.ts';
import type { Key } from '../../../formats/key.ts';
import { isOwnKey, OWN_KEY } from '../../../formats/own-keys.ts';
import type { KeyReader, ReadIncluded } from '../../../formats/reader.ts';
import { comparisonForm } from '../../../core/text/dns-name.ts';

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

const PATH = 'pasted text';

/**
 * Returns the reader of a format, from that of its keys and that of what they open, if it says that.
 * It throws `KeyFileError` for a text that cannot be parsed.
 */
export const readerOf =
  (readKeys: KeyReader['read'], readAccess?: ReadAccess) =>
  (text: string): Configuration => {
    const missing = new Set<string>();
    const include: ReadIncluded = ({ pattern, line }) => {
      missing.add(`${pattern} (line ${line})`);
      return [];
    };
    const keys = new Map<string, KeyInFile>();
    const leftOut: string[] = [];
    for (const entry of readKeys(text, include, PATH)) {
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
    const read = readAccess?.(text, include, PATH);
    const result = { ...found, missing: [...missing] };
    if (read === undefined || missing.size > 0 || !saysUses(read)) return result;
    const own = read.keys.filter(({ key }) => keys.has(comparisonForm(key.name)));
    return { ...result, matrix: matrixOf({ ...read, keys: own, unread: [] }) };
  };
