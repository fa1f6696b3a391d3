import type { SqlCondition, SqlValue } from './sql.ts';

/** A condition or an assignment as SQL, and the values of its parameters. */
export type Fragment = readonly [text: string, ...values: SqlValue[]];

export function joined(fragments: readonly Fragment[], by: ', ' | ' AND '): SqlCondition {
  return {
    text: fragments.map(([text]) => text).join(by),
    parameters: fragments.flatMap(([, ...values]) => values),
  };
}

/** Returns the places of some parameters in a list. */
export function places(count: number): string {
  return Array(count).fill('?').join(', ');
}
