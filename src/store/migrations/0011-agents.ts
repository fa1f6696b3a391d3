import type { Migration } from '../sql/sql.ts';

/** Adds the name servers that a token is limited to, as a JSON list or null for no limit. */
export const migration: Migration = {
  number: 11,
  statements: ({ text }) => [`ALTER TABLE tokens ADD COLUMN nameservers ${text}`],
};
