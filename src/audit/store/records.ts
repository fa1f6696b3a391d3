import { ENTRY_COLUMNS, type AuditEntry } from '../../core/audit-record.ts';
import { nextIfOver, parts } from '../../core/scheduling/slicer.ts';
import { newSlicer } from '../../net/slices.ts';
import { SIZES, type Statement } from '../../sql/table.ts';
import type { Sql, SqlValue, TransactionSql } from '../../sql/sql.ts';

const PLACES = `(${ENTRY_COLUMNS.map(() => '?').join(', ')})`;
const INSERT = `INSERT INTO audit_records (${ENTRY_COLUMNS.join(', ')}) VALUES `;
const INSERT_ONE = INSERT + PLACES;

export async function insertRecord(sql: TransactionSql, entry: AuditEntry): Promise<void> {
  if (sql.runLater === undefined) await sql.run(INSERT_ONE, valuesOf(entry));
  else await sql.runLater(INSERT_ONE, valuesOf(entry));
}

export function insertStatement(entries: readonly AuditEntry[]): Statement {
  return {
    text: INSERT + entries.map(() => PLACES).join(', '),
    parameters: entries.flatMap(valuesOf),
  };
}

const STEPS = SIZES.filter((size) => size <= 64);

export async function insertRecords(sql: Sql, entries: readonly AuditEntry[]): Promise<void> {
  const slicer = newSlicer().forTransaction();
  for (const some of parts(entries, ...STEPS)) {
    await nextIfOver(slicer);
    const { text, parameters } = insertStatement(some);
    await sql.run(text, parameters);
  }
}

/** Returns the values of an entry in the order of `ENTRY_COLUMNS`. */
function valuesOf(entry: AuditEntry): SqlValue[] {
  return [
    entry.at,
    entry.request_id,
    entry.global_request_id,
    entry.actor_kind,
    entry.actor_id,
    entry.actor_name,
    JSON.stringify(entry.roles),
    entry.project_id,
    entry.source,
    entry.action,
    entry.resource_type,
    entry.resource_id,
    entry.resource_name,
    entry.outcome,
    JSON.stringify(entry.detail),
  ];
}
