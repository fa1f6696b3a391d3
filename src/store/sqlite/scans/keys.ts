import type { PageQuery } from '../../../domain/model/query.ts';

/** The sort key of a row in a list: its sort value and id. */
export type Key = readonly [sortValue: string | number, id: string];

/** Collects the keys of the first page of a list. */
export interface FirstKeys {
  add(keys: readonly Key[]): void;
  size(): number;
  /** Returns the keys in the order of the list. */
  list(): Key[];
}

/** Collects the first keys for a page from any number of keys, in any order. Stores at most twice as many keys as the page contains. */
export function firstKeys({ limit, descending, after }: PageQuery): FirstKeys {
  const compare = descending ? (one: Key, other: Key) => compareKeys(other, one) : compareKeys;
  const marker: Key | undefined = after && [(after.sortValue ?? '') as string | number, after.id];
  // By id, so that a row that moved during the scan counts once, at its last position.
  let byId = new Map<string, Key>();
  const sorted = () => [...byId.values()].sort(compare).slice(0, limit);
  return {
    add(keys) {
      for (const key of keys)
        if (marker === undefined || compare(key, marker) > 0) byId.set(key[1], key);
      if (byId.size > 2 * limit) byId = new Map(sorted().map((key) => [key[1], key]));
    },
    size: () => byId.size,
    list: sorted,
  };
}

function compareKeys([value, id]: Key, [otherValue, otherId]: Key): number {
  if (typeof value === 'number' && typeof otherValue === 'number')
    return value - otherValue || compareText(id, otherId);
  return compareText(String(value), String(otherValue)) || compareText(id, otherId);
}

/** Compares by code point, as the database does. */
function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rankOf(one.charCodeAt(index)) - rankOf(other.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Returns the rank of a UTF-16 code unit by code point. Surrogates belong to the highest code points. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit;
}
