import type { Store } from '../core/ports.ts';
import type { ResourceType } from '../core/resource.ts';

interface Cache<T> {
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

const MAX_CACHED_ROWS = 10_000;

/** How long a row is cached if another process may change it. */
const MAX_AGE_SECONDS = 0.5;

interface Search<T> {
  /** The number of changes to rows of the type when the query began. */
  readonly changes: number;
  /** The time until which later requests may use the result. */
  readonly until: number;
  readonly found: Promise<T | undefined>;
}

export interface UnchangedRows<T> {
  cached(key: string): T | undefined;
  find(key: string): Promise<T | undefined>;
}

/**
 * Caches what `read` returns for a key until any row of `type` changes, and for at most 0.5 s if
 * other processes may change rows. Within these limits, concurrent requests for the same key share
 * a query. The address limit also counts them as one request. `seconds` is a monotonic clock.
 */
export function cacheUnchanged<T extends object>(
  store: Store,
  type: ResourceType,
  seconds: () => number,
  read: (key: string) => Promise<T | undefined>,
): UnchangedRows<T> {
  let cache = createCache<T>(MAX_CACHED_ROWS, seconds);
  let asOf = store.changes(type);
  const cached = (key: string): T | undefined => {
    const changes = store.changes(type);
    if (changes !== asOf) cache = createCache(MAX_CACHED_ROWS, seconds);
    asOf = changes;
    return cache.get(key);
  };
  const searches = new Map<string, Search<T>>();
  const search = async (key: string, changes: number, until: number) => {
    const found = await read(key);
    if (found !== undefined && changes === store.changes(type)) cache.set(key, found, until);
    return found;
  };
  const find = async (key: string): Promise<T | undefined> => {
    const row = cached(key);
    if (row !== undefined) return row;
    const running = searches.get(key);
    if (running?.changes === asOf && seconds() < running.until) return running.found;
    const until = store.exclusive ? Infinity : seconds() + MAX_AGE_SECONDS;
    const begun: Search<T> = { changes: asOf, until, found: search(key, asOf, until) };
    searches.set(key, begun);
    try {
      return await begun.found;
    } finally {
      if (searches.get(key) === begun) searches.delete(key);
    }
  };
  return { cached, find };
}
