import type { AuditRecord } from '../audit/record.ts';
import { escapeUnprintable, printableJson, succeeded, type AuditFormat } from './format.ts';

/** The facility "log audit" (RFC 5424 section 6.2.1). */
const FACILITY = 13;

/**
 * The severities "notice" for a request that succeeded, and "warning" for a request that failed or
 * was refused.
 */
const SEVERITY = { success: 5, refusal: 4 } as const;

/** The maximum length of a MSGID (section 6). */
const MAX_MSGID = 32;

/**
 * The id of the structured data. 32473 is the enterprise number for documentation (RFC 5612):
 * Tsigil has no registered number.
 */
const SD_ID = 'tsigil@32473';

/** Messages of the syslog protocol (RFC 5424), with the record as structured data. */
export const syslog: AuditFormat = {
  description: 'syslog messages (RFC 5424), with the record as structured data',
  write(record) {
    const severity = succeeded(record) ? SEVERITY.success : SEVERITY.refusal;
    const header = [
      `<${FACILITY * 8 + severity}>1`,
      `${record.at}Z`,
      '-', // the host name: unknown, because a record does not name the process
      'tsigil',
      '-',
      messageId(record.action),
    ];
    const parameters = parametersOf(record)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => ` ${name}="${escapeValue(value)}"`);
    return `${header.join(' ')} [${SD_ID}${parameters.join('')}]`;
  },
};

/** Returns an action as a MSGID: at most 32 printable ASCII characters. */
function messageId(action: string): string {
  return action.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, MAX_MSGID) || '-';
}

/** Returns the parameters of the structured data. RFC 5424 limits their names to 32 characters. */
function parametersOf(record: AuditRecord): readonly (readonly [name: string, value: string])[] {
  return [
    ['seq', String(record.seq)],
    ['batch', String(record.batch ?? '')],
    ['action', record.action],
    ['outcome', record.outcome],
    ['actorKind', record.actor_kind],
    ['actorId', record.actor_id],
    ['actorName', record.actor_name],
    ...record.roles.map((role) => ['role', role] as const),
    ['projectId', record.project_id ?? ''],
    ['source', record.source ?? ''],
    ['resourceType', record.resource_type ?? ''],
    ['resourceId', record.resource_id ?? ''],
    ['resourceName', record.resource_name ?? ''],
    ['requestId', record.request_id ?? ''],
    ['globalRequestId', record.global_request_id ?? ''],
    ['detail', printableJson(record.detail)],
  ];
}

/**
 * Escapes a PARAM-VALUE: quotation marks, backslashes and closing brackets (section 6.3.3).
 * Unprintable characters become escapes such as `\\u001b`. A reader decodes this escape as the text
 * `\u001b`.
 */
function escapeValue(text: string): string {
  return escapeUnprintable(text).replaceAll(/["\\\]]/g, '\\$&');
}
