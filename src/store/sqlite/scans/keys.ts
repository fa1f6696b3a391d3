import type { PageQuery } from '../../../domain/model/query.ts';

/** What decides the place of a row in a list: its sort value and id. */
export type Key = readonly [sortValue: string | number, id: string];

/** The first keys of a list, by the number that a page holds. */
export interface FirstKeys {
  add(keys: readonly Key[]): void;
  size(): number;
  /** The keys in the order of the list. */
  list(): Key[];
}

/** Collects the keys of a page out of any number, in any order, and holds no more than twice as many as the page does. */
export function firstKeys({ limit, descending, after }: PageQuery): FirstKeys {
  const compare = descending ? (one: Key, other: Key) => compareKeys(other, one) : compareKeys;
  const marker: Key | undefined = after && [(after.sortValue ?? '') as string | number, after.id];
  // By id: a row that moved while the list was read counts where it was seen last.
  let byId = new Map<string, Key>();
  const sorted = () => [...byId.values()].sort(compare).slice(0, limit);
  return {
    add(keys) {
      for (const key of keys) if (marker === undefined || compare(key, marker) > 0) byId.set(key[1], key);
      if (byId.size > 2 * limit) byId = new Map(sorted().map((key) => [key[1], key]));
    },
    size: () => byId.size,
    list: sorted,
  };
}

function compareKeys([value, id]: Key, [otherValue, otherId]: Key): number {
  if (typeof value === 'number' && typeof otherValue === 'number') return value - otherValue || compareText(id, otherId);
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

/** The rank of a UTF-16 unit by code point: surrogates are parts of the highest code points. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit;
}
