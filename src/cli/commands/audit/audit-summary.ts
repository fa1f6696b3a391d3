import type { AuditRecord } from '../../../domain/audit/record.ts';

/** The columns that summarise a record. */
export const SUMMARY_COLUMNS = ['time', 'actor', 'action', 'resource', 'outcome'] as const;

/** Returns the value of each column in `SUMMARY_COLUMNS` for a record. */
export function summaryOf(
  record: AuditRecord,
): Readonly<Record<(typeof SUMMARY_COLUMNS)[number], string>> {
  const { at, actor_name: actor, action, outcome } = record;
  const { resource_type: type, resource_id: id, resource_name: name } = record;
  return { time: at.slice(0, 19), actor, action, resource: name ?? id ?? type ?? '', outcome };
}
