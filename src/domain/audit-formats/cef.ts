import type { AuditRecord } from '../audit/record.ts';
import { millisecondsOf } from '../text/timestamps.ts';
import { escapeUnprintable, succeeded, type AuditFormat } from './format.ts';

/** The maximum length of an extension's value in characters: the limit of CEF's longest field. */
const MAX_VALUE = 4000;

/** The maximum length of a user name in CEF, in characters. */
const MAX_NAME = 1023;

/** The CEF severities (0 to 10) of requests that succeeded and of requests that failed. */
const SEVERITY = { success: 3, refusal: 6 } as const;

/** ArcSight's Common Event Format (CEF), version 0. */
export const cef: AuditFormat = {
  description: 'Common Event Format (CEF) version 0, for ArcSight, Sentinel, QRadar and Splunk',
  write(record, version) {
    const severity = succeeded(record) ? SEVERITY.success : SEVERITY.refusal;
    const header = ['Tsigil', 'Tsigil', version, record.action, record.action, String(severity)];
    const values = extensionOf(record)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `${name}=${escapeValue(value)}`);
    return `CEF:0|${header.map(escapeHeader).join('|')}|${values.join(' ')}`;
  },
};

type Extension = readonly (readonly [name: string, value: string])[];

function extensionOf(record: AuditRecord): Extension {
  const { source } = record;
  const address = source ?? '';
  return [
    ['rt', String(millisecondsOf(record.at))],
    ['cat', 'audit'],
    ['externalId', `${record.batch ?? ''}-${record.seq}`],
    ['outcome', record.outcome],
    ['suid', cut(record.actor_id, MAX_NAME)],
    ['suser', cut(record.actor_name, MAX_NAME)],
    ['spriv', cut(record.roles.join(','), MAX_NAME)],
    ...(address.includes(':') ? labelled('c6a2', 'sourceAddress', address) : []),
    ['src', address.includes(':') ? '' : address],
    ...labelled('cs1', 'resourceType', record.resource_type),
    ...labelled('cs2', 'resourceId', record.resource_id),
    ...labelled('cs3', 'resourceName', record.resource_name),
    ...labelled('cs4', 'projectId', record.project_id),
    ...labelled('cs5', 'requestId', record.request_id),
    ...labelled('cs6', 'detail', JSON.stringify(record.detail)),
    ...labelled('flexString1', 'actorKind', record.actor_kind),
    ...labelled('flexString2', 'globalRequestId', record.global_request_id),
  ];
}

/** Returns a custom field and its label, or an empty list if the field has no value. */
function labelled(name: string, label: string, value: string | null): Extension {
  return value === null || value === ''
    ? []
    : [
        [name, cut(value, MAX_VALUE)],
        [`${name}Label`, label],
      ];
}

/** Truncates a text to `length` characters. A truncated text ends with three dots. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 3).toWellFormed()}...`;
}

/** Escapes backslashes, pipes and unprintable characters for a field of the header. */
function escapeHeader(text: string): string {
  return escapeUnprintable(text).replaceAll(/[\\|]/g, '\\$&');
}

/**
 * Escapes backslashes, equals signs and line breaks for the value of an extension. Other
 * unprintable characters become escapes such as `\\u001b`. A reader decodes this escape as the text
 * `\u001b`.
 */
function escapeValue(text: string): string {
  return text
    .split(/([\n\r])/)
    .map((part) => LINE_BREAKS[part] ?? escapeUnprintable(part).replaceAll(/[\\=]/g, '\\$&'))
    .join('');
}

const LINE_BREAKS: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r' };
