import { cadf } from './cadf.ts';
import { cef } from './cef.ts';
import { printableJson, type AuditFormat } from './format.ts';
import { syslog } from './syslog.ts';

const jsonl: AuditFormat = {
  description: 'JSON lines, as the API returns records',
  write: printableJson,
};

/** Every export format of audit records, by name. */
export const AUDIT_FORMATS: Readonly<Record<string, AuditFormat>> = { jsonl, cadf, cef, syslog };
