import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { ReadIncluded } from '../formats/reader.ts';
import { isPattern, nameMatcher } from '../core/text/name-patterns.ts';
import { codeOf } from '../net/faults.ts';
import { versionOf } from './digest.ts';

/** A statement that includes another file, in the syntax of BIND, Knot DNS and NSD. */
export const INCLUDE = /^[ \t]*include:?\s+"?([^"\s;]+)"?[ \t]*;?/gm;

/** More files than this are not worth reading every few seconds. */
const MAX_FILES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;

/** A configuration file and the files that it includes, except Tsigil's own. */
export interface ConfigurationFiles {
  /** Changes whenever one of the files changes. */
  readonly state: string;
  readonly text: string;
  /** The paths by which the files include Tsigil's own: its path, and those of links to it. */
  readonly ownPaths: ReadonlySet<string>;
  /** Returns the files of an include statement. Throws if they were not read. */
  readonly include: ReadIncluded;
  readonly files: ReadonlyMap<string, ReadFile>;
}

interface ReadFile {
  /** Undefined for a file that was not settled: see `versionOf`. */
  readonly version: string | undefined;
  readonly text: string;
}

/**
 * Reads a configuration file and the files that it includes, except for `own`. Does not read those
 * of `former` again that have not changed. Returns undefined if one of the files cannot be read or
 * found.
 */
export async function readConfiguration(
  main: string,
  own: string,
  former?: Pick<ConfigurationFiles, 'files'>,
): Promise<ConfigurationFiles | undefined> {
  const versions = new Map<string, string>();
  const texts = new Map([[own, '']]);
  const files = new Map<string, ReadFile>();
  const included = new Map<string, readonly string[]>();
  const ownPath = await realPath(own);
  const ownPaths = new Set<string>();
  let bytes = 0;
  const visit = async (file: string): Promise<void> => {
    if (versions.has(file)) return;
    if (file === own || (await realPath(file)) === ownPath) {
      ownPaths.add(file);
      texts.set(file, '');
      return;
    }
    if (versions.size >= MAX_FILES) throw new Error('too many files');
    let version: string | undefined;
    try {
      const found = await stat(file, { bigint: true });
      const of = versionOf(found);
      versions.set(file, of.version);
      if (of.isSettled) version = of.version;
      bytes += Number(found.size);
      // To read a device or a named pipe can take for ever, and one in /proc has no size.
      if (!found.isFile() || bytes > MAX_BYTES) throw new Error('not readable');
      if (found.size === 0n) {
        texts.set(file, '');
        return;
      }
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || file === main) throw error;
      versions.set(file, 'missing'); // which may be the fault
      return;
    }
    const same = former?.files.get(file);
    const isSame = same?.version !== undefined && same.version === version;
    const text = isSame ? same.text : await readFile(file, 'utf8');
    texts.set(file, text);
    files.set(file, { version, text });
    for (const [, path = ''] of text.matchAll(INCLUDE)) {
      const absolute = resolve(dirname(file), path);
      const files = await filesOf(absolute);
      included.set(`${file}\n${path}`, files);
      for (const each of files) await visit(each);
      // BIND and NSD resolve a relative path against another folder.
      if (!isAbsolute(path) && versions.get(absolute) === 'missing') throw new Error('not found');
    }
  };
  try {
    await visit(main);
  } catch {
    return undefined;
  }
  return {
    state: [...versions].map((each) => each.join(' ')).join('\n'),
    text: texts.get(main) ?? '',
    ownPaths,
    files,
    include({ file, pattern }) {
      const files = included.get(`${file?.path ?? main}\n${pattern}`);
      if (files === undefined) throw new Error('not read');
      return files.map((path) => {
        const text = texts.get(path);
        if (text === undefined) throw new Error('not found');
        return { path, text };
      });
    },
  };
}

/** Returns the path of a file without symbolic links. The file need not exist. */
async function realPath(file: string): Promise<string> {
  return realpath(file).catch(async () =>
    join(await realpath(dirname(file)).catch(() => dirname(file)), basename(file)),
  );
}

/** Returns the files of an included path: a file, a folder, or a pattern for files of a folder. */
async function filesOf(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isPattern(basename(path)) && !isFolder) return [path];
  const folder = isFolder ? path : dirname(path);
  const entries = await readdir(folder, { withFileTypes: true });
  const matches = isFolder ? () => true : nameMatcher(basename(path));
  return entries
    .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
    .flatMap(({ name }) => (matches(name) ? [join(folder, name)] : []))
    .toSorted();
}
