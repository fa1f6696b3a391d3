import type { Dialect } from '../sql.ts';
import { isUniqueViolation } from './faults.ts';

/** How statements are written for PostgreSQL. */
export const dialect: Dialect = {
  text: 'text COLLATE "C"',
  like: 'LIKE',
  likePattern: (pattern) => pattern.replaceAll(/[%_\\]/g, '\\$&').replaceAll(/\*+/g, '%'),
  tableExists: 'SELECT 1 AS found FROM pg_catalog.pg_tables WHERE schemaname = ANY (current_schemas(false)) AND tablename = ?',
  isUniqueViolation,
};
