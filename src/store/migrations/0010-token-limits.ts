import type { Migration } from '../sql/sql.ts';

/** Adds the limits of tokens, as JSON lists or null for no limit, and the time of the last use. */
export const migration: Migration = {
  number: 10,
  statements: ({ text }) =>
    ['pools', 'zones', 'keys', 'addresses', 'last_used_at'].map(
      (column) => `ALTER TABLE tokens ADD COLUMN ${column} ${text}`,
    ),
};
