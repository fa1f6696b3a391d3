import { hostname, userInfo } from 'node:os';
import {
  auditEntry,
  type AuditEntry,
  type AuditOrigin,
  type AuditSubject,
} from '../../core/audit-record.ts';
import { insertRecord } from './records.ts';
import type { Database } from '../../sql/sql.ts';

/** Returns the origin of a command on this machine: the user who runs the command. */
export function localOrigin(): AuditOrigin {
  const uid = process.getuid?.();
  const id = uid === undefined ? 'local' : `uid:${uid}`;
  const caller = { id, name: userName() ?? id, roles: [], projectId: null, allProjects: true };
  return { caller, actorKind: 'local', source: hostname() };
}

export function localEntry(subject: AuditSubject): AuditEntry {
  return auditEntry(localOrigin(), subject);
}

/** Writes the record of a command on this machine. Throws `unavailable` if the write fails. */
export async function recordLocally(
  database: Pick<Database, 'write'>,
  subject: AuditSubject,
): Promise<void> {
  await database.write((sql) => insertRecord(sql, localEntry(subject)));
}

function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
