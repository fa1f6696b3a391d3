/** The minimum length of a secret that the search can find, in characters. */
export const SHORTEST_SECRET = 16;

/**
 * The length of a block. Any 16 consecutive characters of a text contain a whole block, which
 * begins at a multiple of 8.
 */
const BLOCK = SHORTEST_SECRET / 2;

/**
 * Returns a function that lists the secrets in a text. The function reads the text once, however
 * many secrets there are. It compares a whole secret only where a block of 8 characters matches.
 * Throws a RangeError for a secret below the minimum length.
 */
export function secretSearch(secrets: readonly string[]): (text: string) => string[] {
  const candidates = new Map<string, { secret: string; at: number }[]>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET)
      throw new RangeError(
        `A secret has ${secret.length} characters. The search needs ${SHORTEST_SECRET}.`,
      );
    // Uses blocks near the end of the secret, because many secrets begin with the same words.
    for (let at = secret.length - SHORTEST_SECRET; at < secret.length - BLOCK; at += 1) {
      const block = secret.slice(at, at + BLOCK);
      const others = candidates.get(block);
      if (others === undefined) candidates.set(block, [{ secret, at }]);
      else others.push({ secret, at });
    }
  }
  return (text) => {
    const found = new Set<string>();
    for (let start = 0; start + BLOCK <= text.length; start += BLOCK) {
      for (const { secret, at } of candidates.get(text.slice(start, start + BLOCK)) ?? []) {
        if (text.startsWith(secret, start - at) && start >= at) found.add(secret);
      }
    }
    return [...found];
  };
}
