import type { AuditTrail } from '../../domain/audit/trail.ts';
import { readBatches } from './batches.ts';
import { readRecords } from './read.ts';
import { verifyTrail, type TrailSource } from './verify.ts';

/** Returns the audit trail of an open database whose schema is up to date. */
export function openTrail(source: TrailSource): AuditTrail {
  return {
    records: (query) => readRecords(source.sql, query),
    batches: (query) => readBatches(source.sql, query),
    verify: (step) => verifyTrail(source, step),
  };
}
