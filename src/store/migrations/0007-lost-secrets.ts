import type { Migration } from '../sql/sql.ts';

/**
 * Creates the table of keys whose secret was lost with the master key and replaced with a random
 * secret. `digest` is the hash of the random secret. A key counts as lost until it gets another
 * secret.
 */
export const migration: Migration = {
  number: 7,
  statements: ({ text }) => [
    `CREATE TABLE lost_secrets (
      id ${text} NOT NULL PRIMARY KEY,
      digest ${text} NOT NULL,
      lost_at ${text} NOT NULL
    )`,
  ],
};
