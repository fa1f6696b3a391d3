import type { Condition, PageQuery } from '../../../domain/model/query.ts';
import type { ResourceType } from '../../../domain/model/resource.ts';
import { columnOf, orderColumn, orderColumns } from '../../sql/columns.ts';
import { equalColumn, hasIndex, orderIndex } from '../../sql/indexes.ts';
import type { SqlValue } from '../../sql/sql.ts';

/** A place in the order of a walk: a value of each of its columns. */
export type Position = readonly SqlValue[];

/** The way on which a scan visits the rows of a table, step by step, so that a step can begin where the one before ended. */
export interface Walk {
  /** The columns whose values change from row to row. With the one that `decides`, they are those of an index, or of the table itself. */
  readonly columns: readonly string[];
  /** Tells whether a condition is searched for in that index. */
  decides(condition: Condition): boolean;
  /** Whether the rows come in the order of the list: the walk then ends when the page is full. */
  readonly ordered: boolean;
  readonly descending: boolean;
  /** The position after which the walk begins; undefined for the beginning of the table. */
  readonly start: Position | undefined;
}

/**
 * The walk for a list. In the order of the list along an index, if there is one and the rows are not counted. Else over all rows, of
 * one project or one value where an index has those together.
 */
export function walkOf(type: ResourceType, { limit, conditions, sortField, descending, count, after }: PageQuery): Walk {
  const { collection } = type;
  const deciding = (equal: string | undefined) => ({
    decides: (condition: Condition) => condition.test === '=' && columnOf(type, condition) === equal,
  });
  const index = count === true ? undefined : orderIndex(type, conditions, sortField);
  if (index !== undefined) {
    const columns = orderColumns(sortField);
    const start = after && positionOf(columns, after.sortValue, after.id);
    return { columns, ...deciding(index.equal), ordered: true, descending, start };
  }
  const all = { ordered: false, descending: false, start: undefined };
  const byTime = equalColumn(type, conditions, (column) => hasIndex(collection, `${column}, created_at, id`));
  if (byTime !== undefined) return { columns: ['created_at', 'id'], ...deciding(byTime), ...all };
  // To count all rows, an index is enough: it is much smaller than the table.
  if (limit === 0 && conditions.length === 0) return { columns: ['id'], ...deciding(undefined), ...all };
  const alone = equalColumn(type, conditions, (column) => hasIndex(collection, column));
  return { columns: ['rowid'], ...deciding(alone), ...all };
}

/** The position of a row on a walk in the order of the list, whose columns are these. */
export function positionOf(columns: readonly string[], sortValue: unknown, id: string): Position {
  return columns.length === 1 ? [id] : [(sortValue ?? '') as SqlValue, id];
}

/** The conditions that a row lies after `from` and not after `to` on a walk, each of which may be an end of the table. */
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

/** The ORDER BY terms of a walk. */
export function orderOf({ columns, descending }: Walk): string {
  return columns.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join(', ');
}

/** The ORDER BY terms of the list itself. */
export function pageOrderOf({ sortField, descending }: PageQuery): string {
  const direction = descending ? 'DESC' : 'ASC';
  return `${orderColumn(sortField)} ${direction}, id ${direction}`;
}
