import type { ListQuery } from '../core/query.ts';
import type { Fields, ResourceType } from '../core/resource.ts';
import { orderValue } from './columns.ts';
import type { SqlRow } from './sql.ts';

/** The sort key of a row in a list: the value of its order column, and its id. */
export type Key = readonly [sortValue: string | number, id: string];

/**
 * The sort fields whose values are ASCII, so that JavaScript compares the values as the database
 * does.
 */
const ASCII_FIELDS: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at']);

/**
 * Returns the rows of a page in the order of its list. SQLite returns a page as the JSON text of an
 * aggregate. SQLite guarantees the order only with ORDER BY inside the aggregate. This clause costs
 * 28 µs for 100 rows. Comparing rows that are already in order costs 1 to 5 µs.
 */
export function inListOrder<F extends Fields>(
  type: ResourceType<F>,
  query: Pick<ListQuery, 'sortField' | 'descending'>,
  rows: SqlRow[],
): SqlRow[] {
  const { sortField, descending } = query;
  const isAscii = ASCII_FIELDS.has(sortField);
  const valueOf = (row: SqlRow) => orderValue(type, sortField, row[sortField]);
  let previous = rows[0];
  let previousValue = previous === undefined ? '' : valueOf(previous);
  for (const row of rows) {
    const value = valueOf(row);
    const isAscending =
      isAscii && value !== previousValue
        ? value > previousValue
        : compareKeys([previousValue, String(previous?.id)], [value, String(row.id)]) < 0;
    if (row !== previous && isAscending === descending) return sorted();
    previous = row;
    previousValue = value;
  }
  return rows;

  function sorted(): SqlRow[] {
    const keyOf = (row: SqlRow): Key => [valueOf(row), String(row.id)];
    const sign = descending ? -1 : 1;
    return rows.toSorted((one, other) => compareKeys(keyOf(one), keyOf(other)) * sign);
  }
}

/** Compares two keys as every database does: numbers by value, text by code point. */
export function compareKeys([value, id]: Key, [otherValue, otherId]: Key): number {
  if (typeof value === 'number' && typeof otherValue === 'number')
    return value - otherValue || compareText(id, otherId);
  return compareText(String(value), String(otherValue)) || compareText(id, otherId);
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [unit, otherUnit] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (unit !== otherUnit) return rankOf(unit) - rankOf(otherUnit);
  }
  return one.length - other.length;
}

/** Surrogates belong to the highest code points. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit;
}
