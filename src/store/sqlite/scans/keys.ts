import type { PageQuery } from '../../../domain/model/query.ts';
import type { ResourceType } from '../../../domain/model/resource.ts';
import { orderValue } from '../../sql/columns.ts';
import { compareKeys, type Key } from '../../sql/order.ts';

export interface FirstKeys {
  add(keys: readonly Key[]): void;
  size(): number;
  /** Returns the keys in the order of the list. */
  list(): Key[];
}

/**
 * Creates a collection of the first keys for a page, from any number of keys in any order. The
 * collection stores at most twice as many keys as the page contains.
 */
export function firstKeys(
  type: ResourceType,
  { limit, sortField, descending, after }: PageQuery,
): FirstKeys {
  const compare = descending ? (one: Key, other: Key) => compareKeys(other, one) : compareKeys;
  const marker: Key | undefined = after && [orderValue(type, sortField, after.sortValue), after.id];
  // The map is keyed by id. So a row that moved during the scan counts once, at its last position.
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
