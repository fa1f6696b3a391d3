import type { Migration } from '../sql/sql.ts';

/**
 * Creates the tables of zones and pools. `tree_key` is the name with its labels reversed, so that
 * the zones below a name form one range of the index.
 */
export const migration: Migration = {
  number: 2,
  statements: ({ text }, now) => [
    `CREATE TABLE pools (
      id ${text} NOT NULL PRIMARY KEY,
      project_id ${text},
      name ${text} NOT NULL,
      name_key ${text} NOT NULL,
      description ${text},
      attributes ${text} NOT NULL,
      ns_records ${text} NOT NULL,
      created_at ${text} NOT NULL,
      updated_at ${text},
      updated_order ${text} GENERATED ALWAYS AS (coalesce(updated_at, '')) STORED
    )`,
    `CREATE UNIQUE INDEX unique_pool_name ON pools (name_key)`,
    `CREATE INDEX pools_by_created_at ON pools (created_at, id)`,
    `CREATE INDEX pools_by_updated_at ON pools (updated_order, id)`,
    `CREATE INDEX pools_by_name ON pools (name, id)`,
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
      created_at ${text} NOT NULL,
      updated_at ${text},
      updated_order ${text} GENERATED ALWAYS AS (coalesce(updated_at, '')) STORED
    )`,
    `CREATE UNIQUE INDEX unique_zone_name ON zones (name_key, pool_id)`,
    `CREATE INDEX zones_by_pool ON zones (pool_id, tree_key)`,
    `CREATE INDEX zones_by_tree ON zones (tree_key, project_id)`,
    `CREATE INDEX zones_by_created_at ON zones (created_at, id)`,
    `CREATE INDEX zones_by_updated_at ON zones (updated_order, id)`,
    `CREATE INDEX zones_by_name ON zones (name, id)`,
    `CREATE INDEX zones_of_project_by_created_at ON zones (project_id, created_at, id)`,
    `CREATE INDEX zones_of_project_by_name ON zones (project_id, name, id)`,
  ],
};
