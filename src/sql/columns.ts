import { type FieldCondition, uniqueFormOfText } from '../core/query.ts';
import type { SqlValue } from './sql.ts';
import { type Fields, type ResourceType } from '../core/resource.ts';

/**
 * The columns of the domain's fields and lookups. The column of a field has the name of the field.
 * A derived value has a separate column: `name_key` for the comparison form of the unique field
 * `name`, `tree_key` for the lookup `tree`.
 */

/** Returns the column of a lookup. Throws `Error` if the type has no such lookup. */
export function lookupColumn<F extends Fields>(type: ResourceType<F>, name: string): string {
  if (name === 'id') return 'id';
  if (name === type.unique?.field) return derivedColumn(name);
  const lookup = type.lookups?.[name];
  if (lookup === undefined)
    throw new Error(`The collection ${type.collection} has no lookup '${name}'`);
  return 'field' in lookup ? lookup.field : derivedColumn(name);
}

export function derivedColumn(lookup: string): string {
  return `${lookup}_key`;
}

export function columnOf<F extends Fields>(
  type: ResourceType<F>,
  condition: FieldCondition,
): string {
  return 'lookup' in condition ? lookupColumn(type, condition.lookup) : condition.field;
}

/**
 * Returns the column by which the database sorts a list. The unique field sorts by its comparison
 * form. A generated column turns null into an empty string, so null sorts first in every database.
 * An expression would be slow: SQLite seeks to a pair such as (x, id) in an index only if x is a
 * column.
 */
export function orderColumn<F extends Fields>(type: ResourceType<F>, sortField: string): string {
  if (sortField === type.unique?.field) return derivedColumn(sortField);
  return sortField === 'updated_at' ? 'updated_order' : sortField;
}

/**
 * Returns the columns by which a list is sorted. The last column is the id, unless the values of
 * the first column are unique.
 */
export function orderColumns<F extends Fields>(type: ResourceType<F>, sortField: string): string[] {
  if (sortField === 'id') return ['id'];
  const column = orderColumn(type, sortField);
  const isUnique = sortField === type.unique?.field && type.unique.per === undefined;
  return isUnique ? [column] : [column, 'id'];
}

/** Returns the value of `orderColumn` for a resource whose sort field has the value `value`. */
export function orderValue<F extends Fields>(
  type: ResourceType<F>,
  sortField: string,
  value: unknown,
): string | number {
  if (sortField === type.unique?.field) return uniqueFormOfText(type, String(value));
  return typeof value === 'number' || typeof value === 'string' ? value : '';
}

export function orderValues<F extends Fields>(
  type: ResourceType<F>,
  sortField: string,
  sortValue: unknown,
  id: string,
): SqlValue[] {
  return orderColumns(type, sortField).map((column) =>
    column === 'id' ? id : orderValue(type, sortField, sortValue),
  );
}
