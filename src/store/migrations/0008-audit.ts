import type { Migration } from '../sql/sql.ts';

/**
 * Creates the tables of the audit trail. `audit_batches` seals the records. `audit_head` repeats
 * the last batch, so that a verification detects the deletion of the last batches. `audit_counts`
 * has events that are still being counted. `leases` has the jobs that only one process may run at a
 * time.
 */
export const migration: Migration = {
  number: 8,
  statements: ({ text, identity }) => [
    `CREATE TABLE audit_records (
      seq ${identity},
      at ${text} NOT NULL,
      request_id ${text},
      global_request_id ${text},
      actor_kind ${text} NOT NULL,
      actor_id ${text} NOT NULL,
      actor_name ${text} NOT NULL,
      roles ${text} NOT NULL,
      project_id ${text},
      source ${text},
      action ${text} NOT NULL,
      resource_type ${text},
      resource_id ${text},
      resource_name ${text},
      outcome ${text} NOT NULL,
      detail ${text} NOT NULL,
      batch INTEGER
    )`,
    'CREATE INDEX audit_records_by_resource ON audit_records (resource_id, seq)',
    'CREATE INDEX audit_records_unsealed ON audit_records (seq) WHERE batch IS NULL',
    `CREATE TABLE audit_batches (
      number INTEGER NOT NULL PRIMARY KEY,
      at ${text} NOT NULL,
      count INTEGER NOT NULL,
      first_seq BIGINT NOT NULL,
      last_seq BIGINT NOT NULL,
      previous ${text} NOT NULL,
      hash ${text} NOT NULL,
      mac ${text},
      key_number INTEGER,
      purged_at ${text}
    )`,
    `CREATE TABLE audit_head (
      id INTEGER NOT NULL PRIMARY KEY,
      number INTEGER NOT NULL,
      hash ${text} NOT NULL,
      mac ${text},
      key_number INTEGER
    )`,
    `CREATE TABLE audit_counts (
      id ${text} NOT NULL PRIMARY KEY,
      minute ${text} NOT NULL,
      entry ${text} NOT NULL
    )`,
    `CREATE TABLE leases (
      name ${text} NOT NULL PRIMARY KEY,
      holder ${text} NOT NULL,
      until BIGINT NOT NULL,
      fence BIGINT NOT NULL
    )`,
  ],
};
