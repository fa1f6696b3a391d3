import { auditEntry, type AuditEntry } from '../core/audit-record.ts';
import type { ChangeEvent, ChangeHook } from '../resources/operations/change.ts';
import { createChangeLog, hideSecret } from './change-log.ts';

/** Writes one record for each changed resource, or for all of a bulk action, and for each event. */
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
      const fingerprint = recording?.fingerprint ?? hideSecret;
      entries = [
        ...log.entries(context, context, clock(), fingerprint),
        ...events.map((event) => auditEntry(context, { ...event, at: clock() })),
      ];
      for (const each of entries) await writer.record(each);
    },
    committed() {
      for (const entry of entries) recording?.recorded(entry);
    },
  };
};
