import type { Migration } from '../sql/sql.ts';

/** Adds the creator of each token. The creator is null for tokens from before this step. */
export const migration: Migration = {
  number: 6,
  statements: ({ text }) => [`ALTER TABLE tokens ADD COLUMN created_by ${text}`],
};
