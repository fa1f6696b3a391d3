import type { Migration } from '../sql.ts';

/** The hash before the first batch of the audit trail. */
const NO_HASH = '0'.repeat(64);

/** The columns of timestamps in tables of resources. `updated_order` sorts null first. */
const changedAt = (text: string) => `created_at ${text} NOT NULL,
      updated_at ${text},
      updated_order ${text} GENERATED ALWAYS AS (coalesce(updated_at, '')) STORED`;

const sortIndexes = (table: string) => [
  `CREATE INDEX ${table}_by_created_at ON ${table} (created_at, id)`,
  `CREATE INDEX ${table}_by_updated_at ON ${table} (updated_order, id)`,
];

/**
 * Creates the schema of the first release. Lower numbers belong to development versions. Times of
 * type BIGINT are milliseconds of the database's clock. A row of `copies` says that the database is
 * the source of a finished copy, or the target of an unfinished one, when its last backup was
 * written, which backup it is and when that was written, or which master key somebody has copied to
 * another place.
 */
export const migration: Migration = {
  number: 18,
  statements: (dialect, now) => [
    ...secretKeys(dialect.text),
    ...resources(dialect.text, now),
    ...delivery(dialect.text),
    ...consoleSessions(dialect.text),
    ...auditTrail(dialect),
    `CREATE TABLE leases (
      name ${dialect.text} NOT NULL PRIMARY KEY,
      holder ${dialect.text} NOT NULL,
      until BIGINT NOT NULL
    )`,
    `CREATE TABLE copies (
      role ${dialect.text} NOT NULL PRIMARY KEY,
      other ${dialect.text} NOT NULL,
      at ${dialect.text} NOT NULL
    )`,
  ],
};

function secretKeys(text: string): string[] {
  return [
    `CREATE TABLE data_keys (
      number INTEGER NOT NULL PRIMARY KEY,
      purpose ${text} NOT NULL,
      wrapped ${text} NOT NULL,
      wrapped_by ${text} NOT NULL,
      created_at ${text} NOT NULL
    )`,
  ];
}

/**
 * The resources that callers create. `name_key` contains the comparison form of the name, by which
 * lists are sorted. `tree_key` is the name with its labels reversed, so that the zones below a name
 * form one range of the index. `secret_key` is the data key of the secret, or null for a secret in
 * clear text; its foreign key prevents the deletion of a data key with secrets. The `version` of a
 * key increases with every change that must be delivered. `granted` is null for a key without grants
 * of its own, and otherwise has its rights in all zones of its scope. The rows of `tsigkey_grants`
 * add rights in single zones, and go with the key and with the zone. The limits of a token are JSON
 * lists, or null for no limit. `mac` is null without a master key. The rows of `retired_tsigkeys`
 * have left `tsigkeys`, and those of `tsigkey_lifecycles` have the ids of keys in either table. Few
 * keys are `weak`, `unusable` or `orphaned`, so the index of these costs other keys nothing.
 */
function resources(text: string, now: string): string[] {
  return [
    `CREATE TABLE tlds (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      description ${text},
      ${changedAt(text)}
    )`,
    `CREATE UNIQUE INDEX unique_tld_name ON tlds (name_key)`,
    ...sortIndexes('tlds'),
    `CREATE TABLE tsigkeys (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      algorithm ${text} NOT NULL,
      secret ${text} NOT NULL,
      secret_key INTEGER REFERENCES data_keys (number),
      secret_octets INTEGER NOT NULL,
      secret_set_at ${text} NOT NULL,
      published INTEGER NOT NULL,
      weak INTEGER NOT NULL,
      unusable INTEGER NOT NULL,
      orphaned INTEGER NOT NULL,
      scope ${text} NOT NULL,
      resource_id ${text} NOT NULL,
      granted ${text},
      version INTEGER NOT NULL DEFAULT 1,
      ${changedAt(text)}
    )`,
    `CREATE UNIQUE INDEX unique_tsigkey_name ON tsigkeys (name_key)`,
    `CREATE INDEX tsigkeys_by_resource ON tsigkeys (resource_id)`,
    `CREATE INDEX tsigkeys_by_secret_key ON tsigkeys (secret_key, id)`,
    `CREATE INDEX tsigkeys_marked ON tsigkeys (weak, unusable, orphaned) WHERE weak + unusable + orphaned > 0`,
    `CREATE INDEX tsigkeys_lost ON tsigkeys (secret) WHERE secret = ''`,
    ...sortIndexes('tsigkeys'),
    `CREATE TABLE tokens (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      roles ${text} NOT NULL,
      project_id ${text},
      pools ${text},
      zones ${text},
      keys ${text},
      nameservers ${text},
      addresses ${text},
      expires_at ${text},
      hash ${text} NOT NULL,
      created_by ${text},
      last_used_at ${text},
      mac ${text},
      ${changedAt(text)}
    )`,
    `CREATE UNIQUE INDEX unique_token_name ON tokens (name_key)`,
    `CREATE UNIQUE INDEX unique_token_hash ON tokens (hash)`,
    `CREATE INDEX tokens_by_expires_at ON tokens (expires_at, id)`,
    ...sortIndexes('tokens'),
    `CREATE TABLE pools (
      id ${text} NOT NULL PRIMARY KEY,
      project_id ${text},
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      description ${text},
      attributes ${text} NOT NULL,
      ns_records ${text} NOT NULL,
      ${changedAt(text)}
    )`,
    `CREATE UNIQUE INDEX unique_pool_name ON pools (name_key)`,
    ...sortIndexes('pools'),
    `INSERT INTO pools (id, project_id, name, name_key, description, attributes, ns_records, created_at, updated_at)
      VALUES ('794ccc2c-d751-44fe-b57f-8894c9f5c842', NULL, 'default', 'default', NULL, '{}', '[]', '${now}', NULL)`,
    `CREATE TABLE zones (
      id ${text} NOT NULL PRIMARY KEY,
      pool_id ${text} NOT NULL,
      project_id ${text} NOT NULL,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      tree_key ${text} NOT NULL,
      email ${text} NOT NULL,
      description ${text},
      ttl BIGINT NOT NULL,
      serial BIGINT NOT NULL,
      shared INTEGER NOT NULL,
      status ${text} NOT NULL,
      action ${text} NOT NULL,
      version BIGINT NOT NULL,
      attributes ${text} NOT NULL,
      type ${text} NOT NULL,
      masters ${text} NOT NULL,
      transferred_at ${text},
      ${changedAt(text)}
    )`,
    `CREATE UNIQUE INDEX unique_zone_name ON zones (name_key, pool_id)`,
    `CREATE INDEX zones_by_pool ON zones (pool_id, tree_key)`,
    `CREATE INDEX zones_by_tree ON zones (tree_key, project_id)`,
    `CREATE INDEX zones_by_name_key ON zones (name_key, id)`,
    ...sortIndexes('zones'),
    `CREATE INDEX zones_of_project_by_created_at ON zones (project_id, created_at, id)`,
    `CREATE INDEX zones_of_project_by_name_key ON zones (project_id, name_key, id)`,
    `CREATE TABLE tsigkey_grants (
      key_id ${text} NOT NULL REFERENCES tsigkeys (id) ON DELETE CASCADE,
      zone_id ${text} NOT NULL REFERENCES zones (id) ON DELETE CASCADE,
      rights ${text} NOT NULL,
      PRIMARY KEY (key_id, zone_id)
    )`,
    `CREATE INDEX tsigkey_grants_by_zone ON tsigkey_grants (zone_id)`,
    `CREATE TABLE tsigkey_lineages (
      id ${text} NOT NULL PRIMARY KEY,
      handle ${text} NOT NULL,
      handle_key ${text} NOT NULL,
      owner ${text},
      purpose ${text},
      consumers ${text} NOT NULL,
      ${changedAt(text)}
    )`,
    `CREATE UNIQUE INDEX unique_lineage_handle ON tsigkey_lineages (handle_key)`,
    `CREATE TABLE tsigkey_lifecycles (
      id ${text} NOT NULL PRIMARY KEY,
      lineage_id ${text} NOT NULL REFERENCES tsigkey_lineages (id),
      position INTEGER NOT NULL,
      state ${text} NOT NULL,
      successor_id ${text},
      overlap_seconds INTEGER,
      retire ${text},
      started_at ${text},
      verified_at ${text},
      retire_at ${text},
      confirmed ${text} NOT NULL,
      confirmed_all INTEGER NOT NULL,
      waiting_reason ${text},
      waiting_for ${text} NOT NULL,
      waiting_since ${text},
      expires_at ${text},
      tripped_at ${text},
      due_at ${text},
      ${changedAt(text)}
    )`,
    `CREATE INDEX tsigkey_lifecycles_by_lineage ON tsigkey_lifecycles (lineage_id)`,
    `CREATE INDEX tsigkey_lifecycles_by_successor ON tsigkey_lifecycles (successor_id)`,
    `CREATE INDEX tsigkey_lifecycles_by_due_at ON tsigkey_lifecycles (due_at)`,
    `CREATE INDEX tsigkey_lifecycles_by_expires_at ON tsigkey_lifecycles (expires_at)`,
    `CREATE INDEX tsigkey_lifecycles_by_waiting_reason ON tsigkey_lifecycles (waiting_reason)`,
    `CREATE TABLE retired_tsigkeys (
      id ${text} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      algorithm ${text} NOT NULL,
      secret ${text} NOT NULL,
      secret_key INTEGER REFERENCES data_keys (number),
      scope ${text} NOT NULL,
      resource_id ${text} NOT NULL,
      secret_octets INTEGER NOT NULL,
      secret_set_at ${text} NOT NULL,
      published INTEGER NOT NULL,
      version INTEGER NOT NULL,
      grants ${text},
      retired_at ${text} NOT NULL,
      purge_at ${text} NOT NULL,
      ${changedAt(text)}
    )`,
    `CREATE UNIQUE INDEX unique_retired_tsigkey_name ON retired_tsigkeys (name_key)`,
    `CREATE INDEX retired_tsigkeys_by_secret_key ON retired_tsigkeys (secret_key, id)`,
  ];
}

/**
 * Name servers, and the delivery of keys to them. A row of `outbox` means that a transaction
 * changed what a name server should have. A row of `deliveries` is one key on one name server.
 * A row of `tsigkey_uses` is what the log of a name server shows of a key and one client, and a row
 * of `retired_tsigkey_uses` that the name server refused a retired key.
 */
function delivery(text: string): string[] {
  return [
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
      ${changedAt(text)},
      holder ${text},
      lease_until BIGINT NOT NULL DEFAULT 0,
      fence BIGINT NOT NULL DEFAULT 0,
      applied_hash ${text},
      applied_rights ${text},
      stamps ${text} NOT NULL DEFAULT '',
      plan ${text},
      held ${text},
      unknown_keys ${text} NOT NULL DEFAULT '[]',
      key_references ${text},
      evidence ${text},
      log_position ${text},
      check_at BIGINT NOT NULL DEFAULT 0,
      probe_at BIGINT NOT NULL DEFAULT 0,
      retry_at BIGINT NOT NULL DEFAULT 0,
      failed_at BIGINT NOT NULL DEFAULT 0,
      confirmed INTEGER NOT NULL DEFAULT 0,
      seen_at BIGINT NOT NULL DEFAULT 0
    )`,
    `CREATE UNIQUE INDEX unique_nameserver_name ON nameservers (name_key)`,
    `CREATE INDEX nameservers_by_pool_id ON nameservers (pool_id)`,
    ...sortIndexes('nameservers'),
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
      successor_id ${text},
      compromised INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (nameserver_id, key_id)
    )`,
    `CREATE INDEX deliveries_by_key ON deliveries (key_id)`,
    `CREATE INDEX deliveries_in_need ON deliveries (state, key_id) WHERE state <> 'delivered' OR error_code IS NOT NULL`,
    ...usesOf('tsigkeys', text),
    ...usesOf('retired_tsigkeys', text),
    `CREATE TABLE outbox (
      nameserver_id ${text} NOT NULL,
      id ${text} NOT NULL,
      at BIGINT NOT NULL,
      key_id ${text},
      tried INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (nameserver_id, id)
    )`,
    `CREATE INDEX outbox_by_age ON outbox (nameserver_id, at)`,
    `CREATE INDEX outbox_by_key ON outbox (key_id)`,
  ];
}

/** The uses of the keys in one table, in `tsigkey_uses` or `retired_tsigkey_uses`. */
function usesOf(keys: 'tsigkeys' | 'retired_tsigkeys', text: string): string[] {
  const uses = keys.replace(/s$/, '_uses');
  return [
    `CREATE TABLE ${uses} (
      key_id ${text} NOT NULL REFERENCES ${keys} (id) ON DELETE CASCADE,
      nameserver_id ${text} NOT NULL REFERENCES nameservers (id) ON DELETE CASCADE,
      operation ${text} NOT NULL,
      outcome ${text} NOT NULL,
      address ${text} NOT NULL,
      first_at ${text} NOT NULL,
      last_at ${text} NOT NULL,
      count BIGINT NOT NULL,
      PRIMARY KEY (key_id, nameserver_id, operation, outcome, address)
    )`,
    `CREATE INDEX ${uses}_by_nameserver ON ${uses} (nameserver_id, last_at)`,
  ];
}

/**
 * The sessions of the web console, and the codes that start one. The rows are no resources of their
 * own: no copy and no restored database has them.
 */
function consoleSessions(text: string): string[] {
  return [
    `CREATE TABLE sessions (
      id ${text} NOT NULL PRIMARY KEY,
      purpose ${text} NOT NULL,
      hash ${text} NOT NULL,
      kind ${text} NOT NULL,
      credential_id ${text} NOT NULL,
      name ${text} NOT NULL,
      sealed_token ${text},
      address ${text},
      agent ${text},
      expires_at ${text} NOT NULL,
      seen_at ${text} NOT NULL,
      mac ${text},
      created_at ${text} NOT NULL
    )`,
    `CREATE UNIQUE INDEX unique_session_hash ON sessions (hash)`,
    `CREATE INDEX sessions_by_credential ON sessions (credential_id)`,
    `CREATE INDEX sessions_by_created_at ON sessions (created_at, id)`,
  ];
}

/**
 * The audit trail. `audit_batches` seals the records. `audit_head` has one row about the whole
 * trail, under one MAC. The index by batch contains only sealed records, so the transaction of a
 * change does not write to it, and it begins with the batch, so the records of a new batch are on
 * adjacent pages.
 */
function auditTrail({ text, identity }: { text: string; identity: string }): string[] {
  return [
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
    'CREATE INDEX audit_records_by_batch ON audit_records (batch, resource_id) WHERE batch IS NOT NULL',
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
      key_number INTEGER
    )`,
    `CREATE TABLE audit_head (
      id INTEGER NOT NULL PRIMARY KEY,
      number INTEGER NOT NULL,
      hash ${text} NOT NULL,
      first_mac INTEGER,
      purged INTEGER NOT NULL,
      retention_days INTEGER,
      events ${text} NOT NULL,
      mac ${text},
      key_number INTEGER
    )`,
    `INSERT INTO audit_head (id, number, hash, purged, events) VALUES (1, 0, '${NO_HASH}', 0, '[]')`,
  ];
}
