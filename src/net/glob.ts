import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileMatcher, isPattern } from '../core/text/name-patterns.ts';
import { codeOf } from './faults.ts';

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

function matchesIn(folder: string, word: string): string[] {
  return namesIn(folder)
    .filter(fileMatcher(word))
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
