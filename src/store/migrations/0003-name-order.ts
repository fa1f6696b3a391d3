import type { Migration } from '../sql/sql.ts';

/**
 * Replaces the indexes on names, because lists are sorted by the comparison form, `name_key`. The
 * unique indexes on `name_key` have this order, except the index of zones.
 */
export const migration: Migration = {
  number: 3,
  statements: () => [
    ...['tlds', 'tsigkeys', 'tokens', 'pools', 'zones'].map(
      (table) => `DROP INDEX ${table}_by_name`,
    ),
    `DROP INDEX zones_of_project_by_name`,
    `CREATE INDEX zones_by_name_key ON zones (name_key, id)`,
    `CREATE INDEX zones_of_project_by_name_key ON zones (project_id, name_key, id)`,
  ],
};
