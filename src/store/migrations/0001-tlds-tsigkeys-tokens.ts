import type { Migration } from '../sql/sql.ts';

/**
 * Creates the tables of TLD entries, TSIG keys and tokens. `name_key` contains the comparison form
 * of the name. `updated_order` is `updated_at` with null sorted first.
 */
export const migration: Migration = {
  number: 1,
  statements: ({ text }) => [
    `CREATE TABLE tlds (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      description ${text},
      created_at ${text} NOT NULL,
      updated_at ${text},
      updated_order ${text} GENERATED ALWAYS AS (coalesce(updated_at, '')) STORED
    )`,
    `CREATE UNIQUE INDEX unique_tld_name ON tlds (name_key)`,
    ...sortIndexes('tlds'),
    `CREATE TABLE tsigkeys (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      algorithm ${text} NOT NULL,
      secret ${text} NOT NULL,
      scope ${text} NOT NULL,
      resource_id ${text} NOT NULL,
      created_at ${text} NOT NULL,
      updated_at ${text},
      updated_order ${text} GENERATED ALWAYS AS (coalesce(updated_at, '')) STORED
    )`,
    `CREATE UNIQUE INDEX unique_tsigkey_name ON tsigkeys (name_key)`,
    `CREATE INDEX tsigkeys_by_resource ON tsigkeys (resource_id)`,
    ...sortIndexes('tsigkeys'),
    `CREATE TABLE tokens (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      roles ${text} NOT NULL,
      project_id ${text},
      expires_at ${text},
      hash ${text} NOT NULL,
      created_at ${text} NOT NULL,
      updated_at ${text},
      updated_order ${text} GENERATED ALWAYS AS (coalesce(updated_at, '')) STORED
    )`,
    `CREATE UNIQUE INDEX unique_token_name ON tokens (name_key)`,
    `CREATE UNIQUE INDEX unique_token_hash ON tokens (hash)`,
    ...sortIndexes('tokens'),
  ],
};

function sortIndexes(table: string): string[] {
  return [
    `CREATE INDEX ${table}_by_created_at ON ${table} (created_at, id)`,
    `CREATE INDEX ${table}_by_updated_at ON ${table} (updated_order, id)`,
    `CREATE INDEX ${table}_by_name ON ${table} (name, id)`,
  ];
}
