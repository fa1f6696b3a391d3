import type { Dialect, SqlCondition } from '../../sql.ts';
import { isReferenceViolation, isUniqueViolation } from './sqlite-faults.ts';

export const dialect: Dialect = {
  text: 'TEXT',
  identity: 'INTEGER NOT NULL PRIMARY KEY',
  matches: (column, pattern) => matches(column, pattern.replaceAll(/\*+/g, '*')),
  tableExists: "SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?",
  nowMs: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  aside: (column) => `+${column}`,
  rowLock: '',
  isUniqueViolation,
  isReferenceViolation,
};

/**
 * Returns the SQL condition for a pattern. The lengths of pattern and text limit the cost of this
 * condition. A GLOB with two or more asterisks would have no such limit, because GLOB backtracks.
 * The most common patterns use built-in functions of SQLite. Other patterns use the SQL function
 * `matches`, which the connections for reads have.
 */
function matches(column: string, pattern: string): SqlCondition {
  const [first = '', middle = '', last] = pattern.split('*');
  const asterisks = pattern.split('*').length - 1;
  if (asterisks === 1 && middle === '')
    return { text: `${column} GLOB ?`, parameters: [`${first.replaceAll(/[?[]/g, '[$&]')}*`] };
  if (asterisks === 1 && first === '')
    return { text: `substr(${column}, ?) = ?`, parameters: [-Array.from(middle).length, middle] };
  if (asterisks === 2 && first === '' && last === '')
    return { text: `instr(${column}, ?) > 0`, parameters: [middle] };
  return { text: `matches(${column}, ?)`, parameters: [pattern] };
}
