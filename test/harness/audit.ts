import { shownRecord, type AuditRecord, type StoredRecord } from '../../src/core/audit-record.ts';
import { queryPostgres } from './postgres.ts';
import { queryByAnotherProgram } from './sqlite-programs.ts';

/** Runs a query on the database at `url`, even while a service uses the database. */
export async function queryDatabase(url: string, text: string): Promise<Record<string, unknown>[]> {
  if (url.startsWith('sqlite:'))
    return queryByAnotherProgram(url.slice('sqlite:'.length), text) as Record<string, unknown>[];
  return queryPostgres(url, text);
}

/** Returns all records of the audit trail, in the order of `seq`. */
export async function auditRecords(url: string): Promise<AuditRecord[]> {
  const rows = await queryDatabase(url, 'SELECT * FROM audit_records ORDER BY seq');
  return rows.map((row) => {
    const { seq, batch } = row;
    return shownRecord({
      ...(row as StoredRecord),
      seq: Number(seq),
      batch: batch === null ? null : Number(batch),
    });
  });
}
