import type { Condition } from '../../domain/model/query.ts';
import type { Fields, ResourceType } from '../../domain/model/resource.ts';

/**
 * The columns of the domain's fields and look-ups. A field has the column of its name. A derived value has a separate column: `name_key` for
 * the comparison form of the unique field `name`, `tree_key` for the look-up `tree`.
 */

/** Returns the column of a look-up. Throws `Error` if the type does not have it. */
export function lookupColumn<F extends Fields>(type: ResourceType<F>, name: string): string {
  if (name === 'id') return 'id';
  if (name === type.unique?.field) return derivedColumn(name);
  const lookup = type.lookups?.[name];
  if (lookup === undefined)
    throw new Error(`The collection ${type.collection} has no look-up '${name}'`);
  return 'field' in lookup ? lookup.field : derivedColumn(name);
}

/** Returns the column of a look-up whose values are derived from resources. */
export function derivedColumn(lookup: string): string {
  return `${lookup}_key`;
}

/** Returns the column of a condition. */
export function columnOf<F extends Fields>(type: ResourceType<F>, condition: Condition): string {
  return 'lookup' in condition ? lookupColumn(type, condition.lookup) : condition.field;
}

/**
 * Returns the column by which the database sorts. A generated column turns null into empty text, so null sorts first in every database. It
 * is a column, not an expression, because SQLite seeks to a pair such as (x, id) in an index only if x is a column.
 */
export function orderColumn(sortField: string): string {
  return sortField === 'updated_at' ? 'updated_order' : sortField;
}

/** Returns the columns by which a list is sorted, without duplicates. */
export function orderColumns(sortField: string): string[] {
  return sortField === 'id' ? ['id'] : [orderColumn(sortField), 'id'];
}
