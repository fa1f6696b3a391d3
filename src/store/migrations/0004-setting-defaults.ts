import type { Migration } from '../sql/sql.ts';

/**
 * Stores the default of `tsigkeys.strict`, which depends on the version that created the database.
 * Earlier versions accepted key names and secrets that no name server can use. The default is false
 * in a database that such a version created. The schema steps of such a database have earlier
 * timestamps than this step.
 */
export const migration: Migration = {
  number: 4,
  statements: ({ text }, now) => [
    `CREATE TABLE setting_defaults (setting ${text} NOT NULL PRIMARY KEY, value ${text} NOT NULL)`,
    `INSERT INTO setting_defaults (setting, value)
      SELECT 'tsigkeys.strict', CASE WHEN count(*) = 0 THEN 'true' ELSE 'false' END
      FROM schema_migrations WHERE applied_at <> '${now}'`,
  ],
};
