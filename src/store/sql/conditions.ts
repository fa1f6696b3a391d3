import type { Condition } from '../../domain/model/query.ts';
import type { Fields, ResourceType } from '../../domain/model/resource.ts';
import { columnOf } from './columns.ts';
import type { Dialect, SqlValue } from './sql.ts';

/** Returns whether a condition may influence the choice of the index. */
export type Decider = (condition: Condition) => boolean;

/**
 * Returns the texts of conditions and their parameters. They are sorted by column, so the order of
 * filters in a request creates no further statements. Conditions for which `mayDecide` is false do
 * not influence the choice of the index.
 */
export function conditionsText<F extends Fields>(
  type: ResourceType<F>,
  given: readonly Condition[],
  dialect: Dialect,
  mayDecide: Decider = () => true,
): { texts: string[]; parameters: SqlValue[] } {
  const texts: string[] = [];
  const parameters: SqlValue[] = [];
  for (const condition of inOrder(type, given)) {
    const { test, value } = condition;
    const name = columnOf(type, condition);
    const column = mayDecide(condition) ? name : dialect.aside(name);
    const sql =
      test === 'matches'
        ? dialect.matches(column, String(value))
        : { text: `${column} ${test} ?`, parameters: [value] };
    texts.push(sql.text);
    parameters.push(...sql.parameters);
  }
  return { texts, parameters };
}

/** Sorts conditions by their columns. */
function inOrder<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
): readonly Condition[] {
  if (conditions.length < 2) return conditions;
  return conditions.toSorted((one, other) => {
    const [column, otherColumn] = [columnOf(type, one), columnOf(type, other)];
    return column < otherColumn ? -1 : Number(column > otherColumn);
  });
}

/** Returns the WHERE clause for all `texts`, with a space before it; empty for none. */
export function whereText(texts: readonly string[]): string {
  return texts.length === 0 ? '' : ` WHERE ${texts.join(' AND ')}`;
}
