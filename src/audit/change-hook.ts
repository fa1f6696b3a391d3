import { auditEntry, type AuditEntry } from '../core/audit-record.ts';
import type { ChangeEvent, ChangeHook } from '../resources/operations/change.ts';
import { createChangeLog, hideSecret } from './change-log.ts';

/** Writes one record for the changed resources, and one for each event. */
export const recordChanges: ChangeHook = (context, { clock, recording }) => {
  const log = createChangeLog();
  const events: ChangeEvent[] = [];
  let entries: AuditEntry[] = [];
  return {
    noted: log.note,
    event(event) {
      events.push(event);
    },
    async finish(writer) {
      const entry = log.entry(context, context, clock(), recording?.fingerprint ?? hideSecret);
      entries = [
        ...(entry === undefined ? [] : [entry]),
        ...events.map((event) => auditEntry(context, { ...event, at: clock() })),
      ];
      for (const each of entries) await writer.record(each);
    },
    committed() {
      for (const entry of entries) recording?.recorded(entry);
    },
  };
};
