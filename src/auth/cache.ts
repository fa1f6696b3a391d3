/** Answers that count for a while. */
export interface Cache<T> {
  /** The value under `key`, unless its time is over. */
  get(key: string): T | undefined;
  /** Keeps `value` until the moment `until`, in the cache's seconds. */
  set(key: string, value: T, until: number): void;
}

/** A cache of at most `entries` values; the one that was not used for longest is dropped first. `seconds` is a clock that does not go back. */
export function createCache<T extends object>(entries: number, seconds: () => number): Cache<T> {
  // A Map iterates in the order in which keys were set: whatever is used is set anew and goes to the end.
  const kept = new Map<string, { value: T; until: number }>();
  return {
    get(key) {
      const entry = kept.get(key);
      if (entry === undefined) return undefined;
      kept.delete(key);
      if (entry.until <= seconds()) return undefined;
      kept.set(key, entry);
      return entry.value;
    },
    set(key, value, until) {
      kept.delete(key);
      if (until <= seconds()) return;
      kept.set(key, { value, until });
      const [oldest] = kept.keys();
      if (kept.size > entries && oldest !== undefined) kept.delete(oldest);
    },
  };
}
