import type { Migration } from '../sql/sql.ts';

/**
 * Creates the table of data keys, and adds a column for the data key of each secret. Null means
 * that the secret is not encrypted. The foreign key prevents the deletion of a data key with
 * secrets.
 */
export const migration: Migration = {
  number: 5,
  statements: ({ text }) => [
    `CREATE TABLE data_keys (
      number INTEGER NOT NULL PRIMARY KEY,
      purpose ${text} NOT NULL,
      wrapped ${text} NOT NULL,
      wrapped_by ${text} NOT NULL,
      state ${text} NOT NULL,
      created_at ${text} NOT NULL
    )`,
    `CREATE TABLE encryption_steps (name ${text} NOT NULL PRIMARY KEY, done_at ${text} NOT NULL)`,
    `CREATE TABLE encryption_processes (
      id ${text} NOT NULL PRIMARY KEY,
      host ${text} NOT NULL,
      master_keys ${text} NOT NULL,
      seen_at BIGINT NOT NULL
    )`,
    `ALTER TABLE tsigkeys ADD COLUMN secret_key INTEGER REFERENCES data_keys (number)`,
    `CREATE INDEX tsigkeys_by_secret_key ON tsigkeys (secret_key, id)`,
  ],
};
