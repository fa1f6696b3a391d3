import type { Migration } from '../sql/sql.ts';

/**
 * Creates the tables of name servers, and of the delivery of keys to name servers. Times of type
 * BIGINT are milliseconds of the database's clock. A row of `outbox` means that a transaction
 * changed what a name server should have. A row of `deliveries` is one key on one name server. The
 * `version` of a key increases with every change that must be delivered.
 */
export const migration: Migration = {
  number: 9,
  statements: ({ text }) => [
    `ALTER TABLE tsigkeys ADD COLUMN version INTEGER NOT NULL DEFAULT 1`,
    `CREATE TABLE nameservers (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      pool_id ${text} NOT NULL,
      driver ${text} NOT NULL,
      address ${text} NOT NULL,
      rights ${text} NOT NULL,
      delivery ${text} NOT NULL,
      paused INTEGER NOT NULL,
      probe_zone ${text},
      description ${text},
      state ${text} NOT NULL,
      keys_wanted INTEGER NOT NULL,
      keys_live INTEGER NOT NULL,
      applied_at ${text},
      verified_at ${text},
      pending_since ${text},
      attempts INTEGER NOT NULL,
      next_attempt_at ${text},
      error_code ${text},
      error ${text},
      created_at ${text} NOT NULL,
      updated_at ${text},
      updated_order ${text} GENERATED ALWAYS AS (coalesce(updated_at, '')) STORED,
      holder ${text},
      lease_until BIGINT NOT NULL DEFAULT 0,
      fence BIGINT NOT NULL DEFAULT 0,
      applied_hash ${text},
      check_at BIGINT NOT NULL DEFAULT 0,
      probe_at BIGINT NOT NULL DEFAULT 0,
      retry_at BIGINT NOT NULL DEFAULT 0,
      failed_at BIGINT NOT NULL DEFAULT 0,
      failed_rows BIGINT NOT NULL DEFAULT 0,
      refusals INTEGER NOT NULL DEFAULT 0,
      confirmed INTEGER NOT NULL DEFAULT 0,
      seen_at BIGINT NOT NULL DEFAULT 0
    )`,
    `CREATE UNIQUE INDEX unique_nameserver_name ON nameservers (name_key)`,
    `CREATE INDEX nameservers_by_pool_id ON nameservers (pool_id)`,
    `CREATE INDEX nameservers_by_created_at ON nameservers (created_at, id)`,
    `CREATE INDEX nameservers_by_updated_at ON nameservers (updated_order, id)`,
    `CREATE TABLE deliveries (
      nameserver_id ${text} NOT NULL,
      key_id ${text} NOT NULL,
      key_name ${text} NOT NULL,
      state ${text} NOT NULL,
      delivered_version BIGINT NOT NULL,
      applied_at ${text},
      verified_at ${text},
      error_code ${text},
      error ${text},
      PRIMARY KEY (nameserver_id, key_id)
    )`,
    `CREATE INDEX deliveries_by_key ON deliveries (key_id)`,
    `CREATE TABLE outbox (
      nameserver_id ${text} NOT NULL,
      id ${text} NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (nameserver_id, id)
    )`,
  ],
};
