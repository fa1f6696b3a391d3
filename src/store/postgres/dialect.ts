import type { Dialect } from '../sql/sql.ts';
import { isReferenceViolation, isUniqueViolation } from './faults.ts';

/** The SQL dialect of PostgreSQL. */
export const dialect: Dialect = {
  text: 'text COLLATE "C"',
  matches: (column, pattern) => ({
    text: `${column} LIKE ?`,
    parameters: [pattern.replaceAll(/[%_\\]/g, '\\$&').replaceAll(/\*+/g, '%')],
  }),
  tableExists:
    'SELECT 1 AS found FROM pg_catalog.pg_tables WHERE schemaname = ANY (current_schemas(false)) AND tablename = ?',
  aside: (column) => column, // the planner estimates how many rows a condition matches
  rowLock: ' FOR UPDATE',
  isUniqueViolation,
  isReferenceViolation,
};
