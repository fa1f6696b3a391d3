import type { Condition, ListQuery } from '../core/query.ts';
import type { Fields, ResourceType } from '../core/resource.ts';
import { columnOf, lookupColumn, orderColumns } from './columns.ts';

/** The columns of each index, in order. A test compares these columns with the schema. */
export const INDEXES: Readonly<Record<string, readonly string[]>> = {
  tlds: ['id', 'name_key', 'created_at, id', 'updated_order, id'],
  tsigkeys: [
    'id',
    'name_key',
    'created_at, id',
    'updated_order, id',
    'resource_id',
    'secret_key, id',
    'weak, unusable, orphaned',
    'secret',
  ],
  tsigkey_lineages: ['id', 'handle_key'],
  tsigkey_lifecycles: [
    'id',
    'lineage_id',
    'successor_id',
    'due_at',
    'expires_at',
    'waiting_reason',
  ],
  retired_tsigkeys: ['id', 'name_key', 'secret_key, id'],
  tokens: ['id', 'name_key', 'created_at, id', 'updated_order, id', 'hash', 'expires_at, id'],
  sessions: ['id', 'hash', 'credential_id', 'created_at, id'],
  pools: ['id', 'name_key', 'created_at, id', 'updated_order, id'],
  nameservers: ['id', 'name_key', 'created_at, id', 'updated_order, id', 'pool_id'],
  zones: [
    'id',
    'name_key, pool_id',
    'pool_id, tree_key',
    'tree_key, project_id',
    'created_at, id',
    'updated_order, id',
    'name_key, id',
    'project_id, created_at, id',
    'project_id, name_key, id',
  ],
};

/**
 * Returns true if a condition requires one id or one unique value, so that few rows match it. A
 * field that is unique only per value of another field also counts if an index begins with its
 * column. For each value, such an index contains one row per value of the other field.
 */
export function isLookup<F extends Fields>(type: ResourceType<F>, condition: Condition): boolean {
  if (condition.test !== '=') return false;
  const name = 'lookup' in condition ? condition.lookup : condition.field;
  if (name === 'id') return true;
  if (name !== type.unique?.field) return false;
  return type.unique.per === undefined || beginsIndex(type.collection, lookupColumn(type, name));
}

/** If so, the cost of a page of the list does not depend on the number of rows. */
export function isReadOffIndex<F extends Fields>(
  type: ResourceType<F>,
  { conditions, sortField }: ListQuery,
): boolean {
  if (conditions.some((condition) => isLookup(type, condition))) return true;
  const index = orderIndex(type, conditions, sortField);
  return index !== undefined && conditions.length === (index.equal === undefined ? 0 : 1);
}

/** `equal` is the first column of the index, if a condition requires one value of that column. */
export function orderIndex<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
  sortField: string,
): { readonly equal: string | undefined } | undefined {
  const order = orderColumns(type, sortField).join(', ');
  const equal = equalColumn(type, conditions, (column) =>
    hasIndex(type.collection, `${column}, ${order}`),
  );
  return equal !== undefined || hasIndex(type.collection, order) ? { equal } : undefined;
}

/** Returns the first column for which a condition requires one value and `fits` is true. */
export function equalColumn<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
  fits: (column: string) => boolean,
): string | undefined {
  for (const condition of conditions) {
    if (condition.test !== '=') continue;
    const column = columnOf(type, condition);
    if (fits(column)) return column;
  }
  return undefined;
}

function beginsIndex(collection: string, column: string): boolean {
  return INDEXES[collection]?.some((columns) => columns.startsWith(`${column}, `)) === true;
}

/** Returns whether a table has an index with exactly these columns, in the form of `INDEXES`. */
export function hasIndex(collection: string, columns: string): boolean {
  return INDEXES[collection]?.includes(columns) === true;
}
