/** How many typing mistakes a suggestion may correct. */
const MAX_MISTAKES = 3;

/** A word of which a candidate is only the beginning or the end needs so many characters. */
const MIN_PART = 3;

/**
 * Returns a sentence that suggests the candidate a person probably meant by `word`, after a blank, or
 * an empty text. Ignores case, hyphens and underscores. A candidate also fits if one of the two words
 * begins the other, or if `word` is the last part of a dotted candidate.
 */
export function suggestion(word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? '' : `. Did you mean '${meant}'?`;
}

function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const given = plain(word);
  const limit = Math.min(MAX_MISTAKES, Math.max(1, Math.floor(given.length / 3)));
  const found = [...candidates].flatMap((candidate) => {
    const form = plain(candidate);
    if (form.endsWith(`.${given}`)) return [{ candidate, mistakes: 0 }];
    if (Math.abs(form.length - given.length) > limit && !begins(form, given)) return [];
    const mistakes = mistakesBetween(given, form);
    return mistakes <= limit || begins(form, given) ? [{ candidate, mistakes }] : [];
  });
  return found.sort((one, other) => one.mistakes - other.mistakes)[0]?.candidate;
}

const plain = (word: string) => word.toLowerCase().replaceAll(/[-_]/g, '');

function begins(one: string, other: string): boolean {
  const isShort = Math.min(one.length, other.length) < MIN_PART;
  return !isShort && (one.startsWith(other) || other.startsWith(one));
}

/** Returns how many characters were inserted, left out, replaced, or swapped with the next one. */
function mistakesBetween(one: string, other: string): number {
  let [before, last] = [[] as number[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[row - 1] === other[at - 1];
      const isSwap = row > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      next.push(
        Math.min(
          (last[at] ?? 0) + 1,
          (next[at - 1] ?? 0) + 1,
          (last[at - 1] ?? 0) + (isSame ? 0 : 1),
          isSwap ? (before[at - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    [before, last] = [last, next];
  }
  return last[other.length] ?? 0;
}

/**
 * Returns whether `word` misspells a candidate by one or two mistakes, or by its case. A candidate of up
 * to four characters has one mistake at most.
 */
export function isMisspelt(word: string, candidates: readonly string[]): boolean {
  if (candidates.includes(word)) return false;
  const form = word.toLowerCase();
  return candidates.some((each) => {
    const limit = each.length <= 4 ? 1 : 2;
    return Math.abs(each.length - form.length) <= limit && mistakesBetween(form, each) <= limit;
  });
}
