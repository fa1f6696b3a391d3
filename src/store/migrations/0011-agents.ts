import type { Migration } from '../sql/sql.ts';

/** The limit of tokens to name servers, as a list in JSON or null for none. */
export const migration: Migration = {
  number: 11,
  statements: ({ text }) => [`ALTER TABLE tokens ADD COLUMN nameservers ${text}`],
};
