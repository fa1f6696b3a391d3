import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from './faults.ts';

export function isPattern(path: string): boolean {
  return /[*?[]/.test(path);
}

/**
 * Returns the paths that match an absolute pattern with `*`, `?` and `[...]` (glob(7)), sorted by
 * name. Throws the error of the operating system if a folder cannot be read.
 */
export function matchingPaths(pattern: string): string[] {
  const words = pattern.split('/').filter((word) => word !== '');
  let paths = ['/'];
  for (const word of words)
    paths = isPattern(word)
      ? paths.flatMap((path) => matchesIn(path, word))
      : paths.map((path) => join(path, word.replaceAll(/\\(.)/g, '$1')));
  return paths.filter((path) => existsSync(path));
}

/** Expands `{a,b}` in a pattern. Returns `a.conf` and `b.conf` for `{a,b}.conf`. */
export function expandBraces(pattern: string): string[] {
  const [whole, before = '', inside = '', after = ''] =
    /^([^{}]*)\{([^{}]*)\}(.*)$/s.exec(pattern) ?? [];
  if (whole === undefined) return [pattern];
  const rest = expandBraces(after);
  return inside.split(',').flatMap((word) => rest.map((end) => before + word + end));
}

/** Returns a function that returns whether a name matches a pattern of names, also with `{a,b}`. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const expressions = [pattern, ...expandBraces(pattern)].map(expressionOf);
  return (name) => expressions.some((expression) => expression.test(name));
}

function matchesIn(folder: string, word: string): string[] {
  const expression = expressionOf(word);
  return namesIn(folder)
    .filter((name) => expression.test(name) && (word.startsWith('.') || !name.startsWith('.')))
    .sort()
    .map((name) => join(folder, name));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return [];
    throw error;
  }
}

function expressionOf(word: string): RegExp {
  const source = word.replaceAll(
    /\\(.)|\*+|\?|\[([!^]?)(\]?[^\]]*)\]|[^]/g,
    (part: string, escaped?: string, not?: string, set?: string) => {
      if (set !== undefined) return `[${not ? '^' : ''}${set.replaceAll(/[\\\]^[]/g, '\\$&')}]`;
      if (part.startsWith('*')) return '[^]*';
      if (part === '?') return '[^]';
      return (escaped ?? part).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    },
  );
  return new RegExp(`^${source}$`, 's');
}
