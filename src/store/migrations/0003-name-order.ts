import type { Migration } from '../sql/sql.ts';

/**
 * Lists sorted by name follow the comparison form of the name. The unique index on it has that
 * order, except for zones.
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
