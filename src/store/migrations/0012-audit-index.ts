import type { Migration } from '../sql/sql.ts';

/**
 * Replaces the index of audit records by resource. The new index contains only sealed records, so
 * the transaction of a change does not write to this index. The index begins with the batch, so the
 * records of a new batch are on adjacent pages.
 */
export const migration: Migration = {
  number: 12,
  statements: () => [
    'DROP INDEX audit_records_by_resource',
    'CREATE INDEX audit_records_by_batch ON audit_records (batch, resource_id) WHERE batch IS NOT NULL',
  ],
};
