import type { Condition } from '../../domain/model/query.ts';
import type { Fields, ResourceType } from '../../domain/model/resource.ts';

/**
 * Which columns hold what the domain names. A field has the column of its name. A value that is derived from a resource has a column of its
 * own: `name_key` for the comparison form of the unique field `name`, `tree_key` for the look-up `tree`.
 */

/** Returns the column of a look-up. Throws `Error` for one that the type does not have. */
export function lookupColumn<F extends Fields>(type: ResourceType<F>, name: string): string {
  if (name === 'id') return 'id';
  if (name === type.unique?.field) return derivedColumn(name);
  const lookup = type.lookups?.[name];
  if (lookup === undefined) throw new Error(`The collection ${type.collection} has no look-up '${name}'`);
  return 'field' in lookup ? lookup.field : derivedColumn(name);
}

/** Returns the column of a look-up whose values are derived from resources. */
export function derivedColumn(lookup: string): string {
  return `${lookup}_key`;
}

/** Returns the column that a condition is about. */
export function columnOf<F extends Fields>(type: ResourceType<F>, condition: Condition): string {
  return 'lookup' in condition ? lookupColumn(type, condition.lookup) : condition.field;
}

/**
 * Returns the column by which the database sorts. Null sorts as the lowest value, and in every database alike, because a generated column
 * makes it empty text. A column, not an expression: SQLite seeks to a pair such as (x, id) in an index only where x is a column.
 */
export function orderColumn(sortField: string): string {
  return sortField === 'updated_at' ? 'updated_order' : sortField;
}

/** Returns the columns that order a list, each once. */
export function orderColumns(sortField: string): string[] {
  return sortField === 'id' ? ['id'] : [orderColumn(sortField), 'id'];
}
