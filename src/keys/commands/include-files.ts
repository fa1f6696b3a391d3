import { realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import type {
  IncludedFile,
  IncludeRules,
  IncludeStatement,
  ReadIncluded,
} from '../../formats/reader.ts';
import { expandBraces, isPattern } from '../../core/text/name-patterns.ts';
import { faultOf } from '../../net/faults.ts';
import { matchingPaths } from '../../net/glob.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { readTextFile } from '../../cli/service/input.ts';

/** Without it, a chain of files that each include the next one twice takes exponential time. */
const MAX_FILES = 1000;

export interface UnreadFile {
  readonly place: string;
  readonly problem: string;
}

interface IncludeReader {
  readonly include: ReadIncluded;
  readonly unread: readonly UnreadFile[];
}

/**
 * `rules` are those of the program that reads the configuration `main`: a path, or `-` for
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
    const { file, line } = statement;
    const name = file?.path ?? (main === '-' ? undefined : main);
    const place = name === undefined ? `line ${line}` : `${name}:${line}`;
    const chain = chains.get(file) ?? [];
    const attempt = <T>(path: string, work: () => T): T | undefined => {
      try {
        return work();
      } catch (error) {
        const reason = `'${path}' cannot be read: ${faultOf(error).message}`;
        unread.push({ place, problem: error instanceof CommandError ? error.message : reason });
        return undefined;
      }
    };
    const pattern = attempt('', () => patternOf(statement, rules, main, chain));
    if (pattern === undefined) return [];
    const shown = shownPath(pattern, main);
    const paths = attempt(shown, () => pathsOf(pattern, rules)) ?? [];
    if (paths.length === 0 && isPattern(pattern)) {
      if (rules.mayMatchNothing) log(`No file matches '${shown}', included at ${place}`);
      else unread.push({ place, problem: `no file matches '${shown}'` });
    }
    return paths.flatMap((each) => {
      const path = shownPath(each, main);
      const read = attempt(path, () => readOne(path, chain));
      if (read !== undefined) log(`Read '${path}', included at ${place}`);
      return read ?? [];
    });
  };

  /** Returns undefined for a folder that the rules skip. Throws the reason not to read a file. */
  function readOne(path: string, chain: readonly string[]): IncludedFile | undefined {
    const real = realpathSync(path);
    const stats = statSync(real);
    if (stats.isDirectory() && rules.skipsFolders) return undefined;
    if (!stats.isFile()) throw refused(`'${path}' is not a regular file`);
    if (chain.includes(real)) throw refused(`'${path}' includes itself`);
    if (files >= MAX_FILES)
      throw refused(`'${path}' exceeds the limit of ${MAX_FILES} included files`);
    const file = { path, text: readTextFile(path) };
    files += 1;
    chains.set(file, [...chain, real]);
    return file;
  }
  return { include, unread };
}

function refused(problem: string): CommandError {
  return new CommandError(EXIT.refused, problem);
}

/**
 * Returns the path for messages. The path is relative if the path of the configuration is relative,
 * and the file is below the working directory.
 */
function shownPath(path: string, main: string): string {
  const near = relative('', path);
  return isAbsolute(main) || main === '-' || near === '' || near.startsWith('..') ? path : near;
}

/** Returns the path itself for a file without a real path, such as a pipe of a shell. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Returns the absolute path or pattern of a statement. Throws `CommandError`. */
function patternOf(
  { pattern, directories }: IncludeStatement,
  { relativeTo }: IncludeRules,
  main: string,
  chain: readonly string[],
): string {
  if (pattern === '') throw refused('the include statement names no file');
  if (isAbsolute(pattern)) return resolve(pattern);
  const current = chain.at(-1);
  if (relativeTo === 'file' && current !== undefined) return resolve(dirname(current), pattern);
  if (relativeTo !== 'file' && (main !== '-' || directories.some((each) => isAbsolute(each))))
    return resolve(...directories, pattern);
  throw refused(
    `'${pattern}' is a relative path, and standard input has no folder; import the file by its name instead`,
  );
}

function pathsOf(pattern: string, { braces }: IncludeRules): string[] {
  return (braces ? expandBraces(pattern) : [pattern]).flatMap((each) =>
    isPattern(each) ? matchingPaths(each) : [each],
  );
}
