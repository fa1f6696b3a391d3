import { uniqueColumn, type Condition, type Fields, type ListQuery, type ResourceType } from '../../domain/model/resource.ts';

/** The columns of each index of a table, in the order of the index. A test compares them with the schema. */
export const INDEXES: Readonly<Record<string, readonly string[]>> = {
  tlds: ['id', 'name_key', 'created_at, id', 'updated_order, id', 'name, id'],
  tsigkeys: ['id', 'name_key', 'created_at, id', 'updated_order, id', 'name, id', 'resource_id'],
  tokens: ['id', 'name_key', 'created_at, id', 'updated_order, id', 'name, id', 'hash'],
  pools: ['id', 'name_key', 'created_at, id', 'updated_order, id', 'name, id'],
  zones: [
    ...['id', 'name_key, pool_id', 'pool_id, tree_key', 'tree_key, project_id', 'created_at, id', 'updated_order, id', 'name, id'],
    ...['project_id, created_at, id', 'project_id, name, id'],
  ],
};

/**
 * The column by which the database sorts. Null sorts as the lowest value, and in every database alike, because a generated column
 * makes it empty text. A column, not an expression: SQLite seeks to a pair such as (x, id) in an index only where x is a column.
 */
export function orderColumn(sortColumn: string): string {
  return sortColumn === 'updated_at' ? 'updated_order' : sortColumn;
}

/** The columns that order a list, each once. */
export function orderColumns(sortColumn: string): string[] {
  return sortColumn === 'id' ? ['id'] : [orderColumn(sortColumn), 'id'];
}

/** Tells whether a condition asks for one value of a column that tells resources apart, so that no more than a few rows meet it. */
export function isLookup<F extends Fields>(type: ResourceType<F>, { column, test }: Condition): boolean {
  return test === '=' && (column === 'id' || column === uniqueColumn(type) || column === type.unique.field);
}

/** Tells whether an index gives the rows of a list in their order: a page then costs the same however many rows there are. */
export function isReadOffIndex<F extends Fields>(type: ResourceType<F>, { conditions, sortColumn }: ListQuery): boolean {
  if (conditions.some((condition) => isLookup(type, condition))) return true;
  const index = orderIndex(type.collection, conditions, sortColumn);
  return index !== undefined && conditions.length === (index.equal === undefined ? 0 : 1);
}

/** An index that gives rows in the order of a list: `equal` is its first column where a condition asks for one value of that. */
export function orderIndex(
  collection: string,
  conditions: readonly Condition[],
  sortColumn: string,
): { readonly equal: string | undefined } | undefined {
  const order = orderColumns(sortColumn).join(', ');
  const equal = equalColumn(conditions, (column) => hasIndex(collection, `${column}, ${order}`));
  return equal !== undefined || hasIndex(collection, order) ? { equal } : undefined;
}

/** The first column that `fits` among those of which a condition asks for one value. */
export function equalColumn(conditions: readonly Condition[], fits: (column: string) => boolean): string | undefined {
  return conditions.find(({ column, test }) => test === '=' && fits(column))?.column;
}

/** Tells whether a table has an index with exactly these columns, given as `INDEXES` has them. */
export function hasIndex(collection: string, columns: string): boolean {
  return INDEXES[collection]?.includes(columns) === true;
}
