import type { Migration } from '../sql/sql.ts';

/** The limits of tokens, as lists in JSON or null for none, and the time of the last use. */
export const migration: Migration = {
  number: 10,
  statements: ({ text }) =>
    ['pools', 'zones', 'keys', 'addresses', 'last_used_at'].map(
      (column) => `ALTER TABLE tokens ADD COLUMN ${column} ${text}`,
    ),
};
