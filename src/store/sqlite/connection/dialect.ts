import type { Dialect, SqlCondition } from '../../sql/sql.ts';
import { isUniqueViolation } from './faults.ts';

/** How statements are written for SQLite. */
export const dialect: Dialect = {
  text: 'TEXT',
  matches: (column, pattern) => matches(column, pattern.replaceAll(/\*+/g, '*')),
  tableExists: "SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?",
  aside: (column) => `+${column}`,
  isUniqueViolation,
};

/**
 * Every form takes a time that the lengths of pattern and text bound, which GLOB does not: it backtracks. The commonest forms have
 * functions of SQLite. The others need the function `matches`, which the connection for scans has.
 */
function matches(column: string, pattern: string): SqlCondition {
  const [first = '', middle = '', last] = pattern.split('*');
  const asterisks = pattern.split('*').length - 1;
  if (asterisks === 1 && middle === '') return { text: `${column} GLOB ?`, parameters: [`${first.replaceAll(/[?[]/g, '[$&]')}*`] };
  if (asterisks === 1 && first === '') return { text: `substr(${column}, ?) = ?`, parameters: [-Array.from(middle).length, middle] };
  if (asterisks === 2 && first === '' && last === '') return { text: `instr(${column}, ?) > 0`, parameters: [middle] };
  return { text: `matches(${column}, ?)`, parameters: [pattern] };
}
