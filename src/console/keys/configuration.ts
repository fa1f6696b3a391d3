import {
  matrixOf,
  saysUses,
  type Matrix,
  type ServerConfiguration,
} from '../../domain/access/access.ts';
import { isOwnKey } from '../../domain/brands/brands.ts';
import { OWN_KEY } from '../../domain/key-formats/read-bind.ts';
import {
  KeyFileError,
  placeOf,
  type IncludedFile,
  type IncludeRules,
  type IncludeStatement,
  type ReadIncluded,
} from '../../domain/key-formats/reader.ts';
import type { Key } from '../../domain/key-formats/key.ts';
import { detectFormat, IMPORT_FORMATS } from '../../domain/key-formats/readers.ts';
import { comparisonForm } from '../../domain/text/dns-name.ts';
import { fileMatcher, isPattern } from '../../domain/text/name-patterns.ts';

/** A file that the person chose. */
export interface ChosenFile {
  /** Its path from the chosen folder, with the name of that folder, or only its name. */
  readonly path: string;
  /** Absent if it could not be read, or is too large for a configuration. */
  readonly text?: string | undefined;
}

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
  /** The files that it includes, but that nobody chose. */
  readonly missing: readonly string[];
  /** What its keys open. Absent if it says nothing about where they are used. */
  readonly matrix?: Matrix;
}

type ReadAccess = (text: string, include: ReadIncluded, path: string) => ServerConfiguration;

/** The readers of access lists, each of which is loaded when a file needs it. */
const ACCESS_READERS: Readonly<Record<string, () => Promise<ReadAccess>>> = {
  bind: async () => (await import('../../domain/access/bind.ts')).readBindAccess,
  dhcpd: async () => (await import('../../domain/access/dhcpd.ts')).readDhcpdAccess,
  knot: async () => (await import('../../domain/access/knot.ts')).readKnotAccess,
  nsd: async () => (await import('../../domain/access/nsd.ts')).readNsdAccess,
};

const UNKNOWN_FORMAT =
  'no keys in a form that Tsigil knows: named.conf, knot.conf, nsd.conf, dhcpd.conf, the output of pdnsutil list-tsig-keys, or lines such as hmac-sha256:name:secret';

/**
 * Reads the configuration that begins with `main`, and the files that it includes. Throws
 * `KeyFileError` for a file that cannot be parsed, or has an unknown format.
 */
export async function readConfiguration(
  main: ChosenFile,
  files: readonly ChosenFile[],
): Promise<Configuration> {
  const { text = '' } = main;
  const format = detectFormat(text) ?? '';
  const reader = IMPORT_FORMATS[format];
  if (reader === undefined) throw new KeyFileError(main.path, UNKNOWN_FORMAT);
  const keys = new Map<string, KeyInFile>();
  const leftOut: string[] = [];
  for (const entry of reader.read(text, includer(main, files, reader.includes, []), main.path)) {
    const place = entry.file === undefined ? `${main.path}:${entry.line}` : placeOf(entry);
    if (!('key' in entry)) {
      leftOut.push(`${place}: ${'problem' in entry ? entry.problem : entry.leftOut}`);
      continue;
    }
    const name = comparisonForm(entry.key.name);
    if (isOwnKey(name)) leftOut.push(`${place}: ${entry.key.name}: ${OWN_KEY}`);
    else if (keys.has(name)) leftOut.push(`${place}: ${entry.key.name} is defined twice`);
    else keys.set(name, { name, key: entry.key });
  }
  const missing: string[] = [];
  const found = { keys: [...keys.values()], leftOut, missing };
  const readAccess = await ACCESS_READERS[format]?.();
  if (readAccess === undefined) return found;
  const read = readAccess(text, includer(main, files, reader.includes, missing), main.path);
  const configuration = {
    ...read,
    keys: read.keys.filter(({ key }) => keys.has(comparisonForm(key.name))),
    unread: missing,
  };
  return saysUses(configuration) ? { ...found, matrix: matrixOf(configuration) } : found;
}

/** Above this number, files include each other rather than differ. */
const MAX_INCLUDED = 1000;

/** No path is longer. */
const MAX_PATTERN = 4096;

/** A chosen file whose path may be the one that a statement means. */
interface Match {
  readonly file: ChosenFile;
  readonly root: string;
  /** The folder of the name server in which the root is, if the statement tells. */
  readonly place: string | undefined;
  readonly depth: number;
}

/**
 * Returns a reader of included files, which finds them among the chosen ones. A browser says only
 * the end of a path: from the chosen folder, the root, or the name of a file. Adds to `missing` each
 * statement for which it is not certain which files are meant: those may refuse a key, and others
 * may give it a right.
 */
function includer(
  main: ChosenFile,
  files: readonly ChosenFile[],
  rules: IncludeRules | undefined,
  missing: string[],
): ReadIncluded {
  /** The paths of each file and of those that include it, because a file may include itself. */
  const chains = new Map<IncludedFile | undefined, readonly string[]>([[undefined, [main.path]]]);
  /** The place of each root, which the first statement tells that means a file there. */
  const places = new Map<string, string>();
  const split = files.map((file) => ({ file, parts: file.path.split('/') }));
  /** Returns the folder of a relative path, as far as it is known. */
  const baseOf = (file?: IncludedFile) => {
    const { path } = (rules?.relativeTo === 'file' ? file : undefined) ?? main;
    return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : (places.get(path) ?? '');
  };
  let left = MAX_INCLUDED;
  return (statement: IncludeStatement) => {
    const { pattern, file, line } = statement;
    const chain = chains.get(file) ?? [];
    left -= 1;
    const path = left < 0 ? undefined : pathOf(statement, baseOf(file));
    const found = path === undefined ? [] : filesAt(path, split);
    const isCertain = found.every(
      ({ file: each, root, place }) =>
        (place ?? places.get(root)) === (places.get(root) ?? place) &&
        each.text !== undefined &&
        !chain.includes(each.path),
    );
    left -= found.length;
    if (found.length === 0 || !isCertain || left < 0) {
      missing.push(`${pattern} (${file?.path ?? main.path}:${line})`);
      return [];
    }
    return found.map(({ file: { path: own, text = '' }, root, place }) => {
      if (place !== undefined) places.set(root, place);
      const included = { path: own, text };
      chains.set(included, [...chain, own]);
      return included;
    });
  };
}

interface Path {
  readonly parts: readonly string[];
  /** Whether the path begins with a chosen folder, rather than at the top of the name server. */
  readonly isWithin: boolean;
}

/**
 * Returns the path that a statement means, or undefined if it is too long. `base` is the folder of a
 * relative path.
 */
function pathOf({ pattern, directories }: IncludeStatement, base: string): Path | undefined {
  if (pattern.length > MAX_PATTERN) return undefined;
  const steps = [base, ...directories, pattern];
  const start = Math.max(
    0,
    steps.findLastIndex((step) => step.startsWith('/')),
  );
  const parts: string[] = [];
  for (const part of steps.slice(start).join('/').split('/'))
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  return { parts, isWithin: start === 0 && base !== '' && !base.startsWith('/') };
}

/** Returns the files that a path means, sorted by path, or none if that is not certain. */
function filesAt(
  { parts: named, isWithin }: Path,
  files: readonly { readonly file: ChosenFile; readonly parts: readonly string[] }[],
): readonly Match[] {
  const matchers = named.map((part) =>
    isPattern(part) ? fileMatcher(part) : (name: string) => name === part,
  );
  const found = files.flatMap(({ file, parts }): Match[] => {
    const depth = parts.length;
    // The folder may also be a copy of all files of the name server.
    const isTop = !isWithin && depth > 1 && depth === named.length + 1;
    const skipped = named.length - depth;
    const isAligned = isTop || (isWithin && depth > 1 ? skipped === 0 : skipped >= 0);
    const own = isTop ? parts.slice(1) : parts;
    const last = named.length - 1;
    if (!isAligned || matchers[last]?.(own.at(-1) ?? '') !== true) return [];
    const first = isTop ? 0 : skipped;
    if (!own.every((part, index) => matchers[first + index]?.(part))) return [];
    const isElsewhere = !isWithin || depth === 1;
    const place = isElsewhere ? `/${isTop ? '..' : named.slice(0, skipped).join('/')}` : undefined;
    return [{ file, root: parts[0] ?? '', place, depth }];
  });
  if (!named.some(isPattern)) return found.length === 1 ? found : [];
  // The pattern may match files elsewhere, unless it begins in the only folder where it matches one.
  const [one, ...others] = found;
  const begin = one === undefined ? 0 : named.length - one.depth;
  const isKnown =
    files.every(({ parts }) => parts.length > 1) &&
    others.every(({ root, depth }) => root === one?.root && depth === one.depth) &&
    !named.slice(0, begin + 1).some(isPattern);
  return isKnown ? found.toSorted((a, b) => (a.file.path < b.file.path ? -1 : 1)) : [];
}
