import type { AnyOf, Condition, Membership } from '../core/query.ts';
import type { Fields, ResourceType } from '../core/resource.ts';
import { columnOf } from './columns.ts';
import type { Dialect, SqlCondition, SqlValue } from './sql.ts';

/** A function that returns whether a condition may influence which index the database uses. */
export type Decider = (condition: Condition) => boolean;

/**
 * Sorts the conditions by column, so that the same filters in another order need no further
 * statement.
 */
export function conditionsText<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
  dialect: Dialect,
  mayDecide: Decider = () => true,
): { texts: string[]; parameters: SqlValue[] } {
  const texts: string[] = [];
  const parameters: SqlValue[] = [];
  for (const condition of inOrder(type, conditions)) {
    const sql = conditionSql(type, condition, dialect, mayDecide(condition));
    texts.push(sql.text);
    parameters.push(...sql.parameters);
  }
  return { texts, parameters };
}

function conditionSql<F extends Fields>(
  type: ResourceType<F>,
  condition: Condition,
  dialect: Dialect,
  mayDecide: boolean,
): SqlCondition {
  if (condition.test === 'any') return anyOfSql(type, condition, dialect);
  const name = columnOf(type, condition);
  const column = mayDecide ? name : dialect.aside(name);
  switch (condition.test) {
    case 'matches':
      return dialect.matches(column, String(condition.value));
    case 'null':
      return { text: `${column} IS NULL`, parameters: [] };
    case 'in':
      return membershipSql(type.collection, column, condition);
    default:
      return { text: `${column} ${condition.test} ?`, parameters: [condition.value] };
  }
}

/** Returns alternatives as SQL that does not influence which index the database uses. */
function anyOfSql<F extends Fields>(
  type: ResourceType<F>,
  { alternatives }: AnyOf,
  dialect: Dialect,
): SqlCondition {
  const all = alternatives.map((conditions) =>
    conditions.map((each) => conditionSql(type, each, dialect, false)),
  );
  const texts = all.map((each) => each.map(({ text }) => text).join(' AND '));
  return {
    text: texts.length === 0 ? '1 = 0' : `(${texts.join(' OR ')})`,
    parameters: all.flat().flatMap(({ parameters }) => parameters),
  };
}

function membershipSql(
  collection: string,
  column: string,
  { field, values, of }: Membership,
): SqlCondition {
  const places = values.map(() => '?').join(', ');
  const text =
    of === undefined
      ? `${column} IN (${places})`
      : `EXISTS (SELECT 1 FROM ${of.collection} WHERE ${of.collection}.${of.is} = ${collection}.${field} AND ${of.collection}.${of.field} IN (${places}))`;
  return { text, parameters: values };
}

function inOrder<F extends Fields>(
  type: ResourceType<F>,
  conditions: readonly Condition[],
): readonly Condition[] {
  if (conditions.length < 2) return conditions;
  const keyOf = (condition: Condition) =>
    condition.test === 'any' ? '' : columnOf(type, condition);
  return conditions.toSorted((one, other) => {
    const [column, otherColumn] = [keyOf(one), keyOf(other)];
    return column < otherColumn ? -1 : Number(column > otherColumn);
  });
}

/** Begins with a space. Returns an empty string if there are no conditions. */
export function whereText(texts: readonly string[]): string {
  return texts.length === 0 ? '' : ` WHERE ${texts.join(' AND ')}`;
}
