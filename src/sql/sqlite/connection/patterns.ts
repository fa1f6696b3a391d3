import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { cachedByText } from './statements.ts';

/** Registers the SQL function `matches`, by which the dialect evaluates patterns. */
export function addMatches(connection: DatabaseSyncInstance): void {
  const matcherFor = cachedByText(patternMatcher);
  connection.function('matches', { deterministic: true }, (text: string | null, pattern: string) =>
    text !== null && matcherFor(pattern)(text) ? 1 : 0,
  );
}

/**
 * Returns a function that searches the segments between asterisks from left to right, each once.
 * The function does not backtrack, so no pattern takes exponential time.
 */
export function patternMatcher(pattern: string): (text: string) => boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return (text) => text === pattern;
  const middle = others.filter((segment) => segment !== '');
  const shortest = middle.reduce(
    (length, segment) => length + segment.length,
    first.length + last.length,
  );
  return (text) => {
    if (text.length < shortest || !text.startsWith(first) || !text.endsWith(last)) return false;
    let position = first.length;
    for (const segment of middle) {
      const found = text.indexOf(segment, position);
      if (found < 0) return false;
      position = found + segment.length;
    }
    return position <= text.length - last.length;
  };
}
