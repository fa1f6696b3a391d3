import type { Dialect } from '../sql.ts';
import { isUniqueViolation } from './faults.ts';

/** How statements are written for SQLite. */
export const dialect: Dialect = {
  text: 'TEXT',
  like: 'GLOB',
  likePattern: (pattern) => pattern.replaceAll(/[?[]/g, '[$&]').replaceAll(/\*+/g, '*'),
  tableExists: "SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?",
  isUniqueViolation,
};
