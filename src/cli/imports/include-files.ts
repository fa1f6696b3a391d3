import { realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import type {
  IncludedFile,
  IncludeRules,
  IncludeStatement,
  ReadIncluded,
} from '../../domain/key-formats/reader.ts';
import { expandBraces, isPattern } from '../../domain/text/name-patterns.ts';
import { faultOf } from '../../net/faults.ts';
import { matchingPaths } from '../../net/glob.ts';
import { CommandError } from '../output/command-error.ts';
import { readTextFile } from '../service/input.ts';

/**
 * The maximum number of included files. Without this limit, a chain of files that each include the
 * next file twice would take exponential time.
 */
const MAX_FILES = 1000;

export interface UnreadFile {
  readonly place: string;
  readonly problem: string;
}

/** A reader of included files for a parser. */
export interface IncludeReader {
  readonly include: ReadIncluded;
  readonly unread: readonly UnreadFile[];
}

/**
 * Creates a reader of the files that a configuration includes. `rules` are the include rules of the
 * program that reads the configuration. `main` is the path of the configuration, or `-` for
 * standard input. Writes a line for each file to `log`.
 */
export function createIncludeReader(
  main: string,
  rules: IncludeRules,
  log: (line: string) => void,
): IncludeReader {
  const unread: UnreadFile[] = [];
  /** The real path of each file, after the real paths of the files that include this file. */
  const chains = new Map<IncludedFile | undefined, readonly string[]>();
  chains.set(undefined, main === '-' ? [] : [realPathOf(main)]);
  let files = 0;

  const include: ReadIncluded = (statement) => {
    const { file, line, pattern } = statement;
    const name = file?.path ?? (main === '-' ? undefined : main);
    const place = name === undefined ? `line ${line}` : `${name}:${line}`;
    const chain = chains.get(file) ?? [];
    const skip = (problem: string) => void unread.push({ place, problem });
    const base = baseOf(statement, rules, main, chain);
    if (pattern === '') skip('the include statement names no file');
    else if (base === undefined && !isAbsolute(pattern))
      skip(
        `'${pattern}' is a relative path, and standard input has no folder; import the file by its name instead`,
      );
    else {
      const absolute = resolve(base ?? '/', pattern);
      const shown = shownPath(absolute, main);
      const paths = attempt(shown, skip, () => pathsOf(absolute, rules)) ?? [];
      if (paths.length === 0 && isPattern(absolute)) {
        if (rules.mayMatchNothing) log(`No file matches '${shown}', included at ${place}`);
        else skip(`no file matches '${shown}'`);
      }
      return paths.flatMap((path) => readOne(shownPath(path, main), place, chain, skip) ?? []);
    }
    return [];
  };

  /**
   * Returns a file, or undefined if the parser must not read it. Calls `skip` with the reason,
   * except for a folder that the rules skip.
   */
  function readOne(
    path: string,
    place: string,
    chain: readonly string[],
    skip: (problem: string) => void,
  ): IncludedFile | undefined {
    const real = attempt(path, skip, () => realpathSync(path));
    const stats = attempt(
      path,
      () => undefined,
      () => statSync(path),
    );
    if (real === undefined || stats === undefined) return undefined;
    if (stats.isDirectory() && rules.skipsFolders) return undefined;
    if (!stats.isFile()) skip(`'${path}' is not a regular file`);
    else if (chain.includes(real)) skip(`'${path}' includes itself`);
    else if (files >= MAX_FILES) skip(`'${path}' exceeds the limit of ${MAX_FILES} included files`);
    else {
      const text = attempt(path, skip, () => readTextFile(path));
      if (text === undefined) return undefined;
      files += 1;
      const file = { path, text };
      chains.set(file, [...chain, real]);
      log(`Read '${path}', included at ${place}`);
      return file;
    }
    return undefined;
  }
  return { include, unread };
}

/**
 * Returns the path for messages. The path is relative if the path of the configuration is relative,
 * and the file is below the working directory.
 */
function shownPath(path: string, main: string): string {
  const near = relative('', path);
  return isAbsolute(main) || main === '-' || near === '' || near.startsWith('..') ? path : near;
}

/**
 * Returns the real path of a file. Returns the path itself for a file without a real path, such as
 * a pipe of a shell.
 */
function realPathOf(path: string): string {
  return (
    attempt(
      path,
      () => undefined,
      () => realpathSync(path),
    ) ?? resolve(path)
  );
}

/** Returns the folder to which relative paths in a statement refer, or undefined if unknown. */
function baseOf(
  { directories }: IncludeStatement,
  { relativeTo }: IncludeRules,
  main: string,
  chain: readonly string[],
): string | undefined {
  const current = chain.at(-1);
  if (relativeTo === 'file') return current === undefined ? undefined : dirname(current);
  return main === '-' && !directories.some((each) => isAbsolute(each))
    ? undefined
    : resolve(...directories);
}

function pathsOf(pattern: string, { braces }: IncludeRules): string[] {
  return (braces ? expandBraces(pattern) : [pattern]).flatMap((each) =>
    isPattern(each) ? matchingPaths(each) : [each],
  );
}

/**
 * Returns the result of `work`. If `work` fails, calls `skip` with the reason and returns
 * undefined.
 */
function attempt<T>(path: string, skip: (problem: string) => void, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    skip(
      error instanceof CommandError
        ? error.message
        : `'${path}' cannot be read: ${faultOf(error).message}`,
    );
    return undefined;
  }
}
