/** A cache with an expiry time for each entry. */
export interface Cache<T> {
  /** Returns the value of `key`, or undefined if its entry is missing or has expired. */
  get(key: string): T | undefined;
  /** Stores `value` with the expiry time `until`, in seconds of the cache's clock. */
  set(key: string, value: T, until: number): void;
}

/**
 * Creates a cache of at most `maxEntries` values. When the cache is full, it evicts the least
 * recently used value. `seconds` is a monotonic clock.
 */
export function createCache<T extends object>(maxEntries: number, seconds: () => number): Cache<T> {
  // A Map iterates in insertion order. Each use moves the entry to the end, so the first entry is
  // the least recently used.
  const entries = new Map<string, { value: T; until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (entry.until <= seconds()) return undefined;
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, until) {
      entries.delete(key);
      if (until <= seconds()) return;
      entries.set(key, { value, until });
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
  };
}
