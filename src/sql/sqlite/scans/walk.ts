import type { Condition, PageQuery } from '../../../core/query.ts';
import type { ResourceType } from '../../../core/resource.ts';
import { columnOf, orderColumns, orderValues } from '../../columns.ts';
import { equalColumn, hasIndex, orderIndex } from '../../indexes.ts';
import type { SqlValue } from '../../sql.ts';

/** A position in a walk: one value for each of its columns. */
export type Position = readonly SqlValue[];

/**
 * The order in which a scan visits the rows of a table. A scan runs in steps; each step continues
 * at the position where the previous step ended.
 */
export interface Walk {
  /**
   * The columns of a position. Except for `rowid`, an index has these columns after the column for
   * which `decides` is true.
   */
  readonly columns: readonly string[];
  /** Returns whether the index serves a condition. */
  decides(condition: Condition): boolean;
  /** True if the rows have the order of the list. The walk then ends when the page is full. */
  readonly ordered: boolean;
  readonly descending: boolean;
  /** The position after which the walk begins; undefined for the beginning of the table. */
  readonly start: Position | undefined;
}

/**
 * Returns the walk for a list. If the query does not count rows, the walk follows an index in the
 * order of the list. Without such an index, or with a count, the walk visits all rows. If an index
 * groups rows by a required value, the walk visits only the rows with this value.
 */
export function walkOf(
  type: ResourceType,
  { limit, conditions, sortField, descending, count, after }: PageQuery,
): Walk {
  const { collection } = type;
  const deciding = (equal: string | undefined) => ({
    decides: (condition: Condition) =>
      condition.test === '=' && columnOf(type, condition) === equal,
  });
  const index = count === true ? undefined : orderIndex(type, conditions, sortField);
  if (index !== undefined) {
    const columns = orderColumns(type, sortField);
    const start = after && orderValues(type, sortField, after.sortValue, after.id);
    return { columns, ...deciding(index.equal), ordered: true, descending, start };
  }
  const all = { ordered: false, descending: false, start: undefined };
  const byTime = equalColumn(type, conditions, (column) =>
    hasIndex(collection, `${column}, created_at, id`),
  );
  if (byTime !== undefined) return { columns: ['created_at', 'id'], ...deciding(byTime), ...all };
  // Counting all rows needs only an index. An index is much smaller than the table.
  if (limit === 0 && conditions.length === 0)
    return { columns: ['id'], ...deciding(undefined), ...all };
  const alone = equalColumn(type, conditions, (column) => hasIndex(collection, column));
  return { columns: ['rowid'], ...deciding(alone), ...all };
}

/** The rows after `from` and up to `to`. Undefined is the beginning or the end of the table. */
export function rangeOf(
  { columns, descending }: Walk,
  from: Position | undefined,
  to: Position | undefined,
): { texts: string[]; parameters: SqlValue[] } {
  const row = columns.length === 1 ? columns.join() : `(${columns.join(', ')})`;
  const places = columns.length === 1 ? '?' : `(${columns.map(() => '?').join(', ')})`;
  return {
    texts: [
      ...(from === undefined ? [] : [`${row} ${descending ? '<' : '>'} ${places}`]),
      ...(to === undefined ? [] : [`${row} ${descending ? '>=' : '<='} ${places}`]),
    ],
    parameters: [...(from ?? []), ...(to ?? [])],
  };
}

export function orderOf({ columns, descending }: Walk): string {
  return columns.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join(', ');
}
