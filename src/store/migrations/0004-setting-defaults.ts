import type { Migration } from '../sql/sql.ts';

/**
 * The defaults of settings that depend on when the database was created. Earlier versions accepted
 * names and secrets of keys that no name server can use. The default stays the same for a database
 * that such a version created. One of its schema steps has an earlier timestamp than this one.
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
