import { createHash } from 'node:crypto';
import type { AuditRecord } from '../audit/record.ts';
import { printableJson, succeeded, type AuditFormat } from './format.ts';

const TYPE_URI = 'http://schemas.dmtf.org/cloud/audit/1.0/event';

/**
 * The CADF actions (DSP0262 annex A.3) by the last part of the recorded action, such as `create` in
 * `zones:create`. Other actions become `unknown`.
 */
const ACTIONS: Readonly<Record<string, string>> = {
  create: 'create',
  get: 'read',
  list: 'read/list',
  update: 'update',
  delete: 'delete',
  import: 'restore',
  reveal: 'read',
  export: 'read',
  backup: 'backup',
  bulk: 'update',
  'rotate-data-key': 'configure',
  'rotate-master-key': 'configure',
  prune: 'configure',
};

/** Cloud Auditing Data Federation events (DMTF DSP0262), in OpenStack's format. */
export const cadf: AuditFormat = {
  description: 'CADF events (DMTF DSP0262) as JSON lines, as OpenStack writes them',
  write(record) {
    return printableJson({
      typeURI: TYPE_URI,
      eventType: 'activity',
      id: idOf(record),
      eventTime: `${record.at}+0000`,
      action: actionOf(record),
      outcome: succeeded(record) ? 'success' : 'failure',
      initiator: initiatorOf(record),
      target: targetOf(record),
      observer: { id: 'tsigil', typeURI: 'service/dns', name: 'tsigil' },
      attachments: [
        { name: 'action', typeURI: 'mime:text/plain', content: record.action },
        { name: 'outcome', typeURI: 'mime:text/plain', content: record.outcome },
        { name: 'position', typeURI: 'mime:text/plain', content: `${record.batch}-${record.seq}` },
        { name: 'detail', typeURI: 'mime:application/json', content: record.detail },
      ],
    });
  },
};

/**
 * Returns the id of a record's event: a UUID (RFC 9562 version 8) derived from the record. The same
 * record always gets the same id, so that a collector can detect duplicates.
 */
function idOf({ at, seq, request_id: requestId }: AuditRecord): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([at, seq, requestId]))
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex', 0, 16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

function actionOf({ action }: AuditRecord): string {
  const [, verb = ''] = action.split(':');
  return (Object.hasOwn(ACTIONS, verb) ? ACTIONS[verb] : undefined) ?? 'unknown';
}

function initiatorOf(record: AuditRecord): object {
  return {
    id: record.actor_id,
    typeURI: ['token', 'keystone'].includes(record.actor_kind)
      ? 'service/security/account/user'
      : 'service/dns',
    name: record.actor_name,
    ...(record.source === null ? {} : { host: { address: record.source } }),
    ...present('project_id', record.project_id),
    ...present('request_id', record.request_id),
    ...present('global_request_id', record.global_request_id),
    roles: record.roles,
  };
}

function targetOf({ resource_type: type, resource_id: id, resource_name: name }: AuditRecord) {
  return {
    id: id ?? type ?? 'tsigil',
    typeURI: type === null ? 'service/dns' : `service/dns/${type}`,
    ...present('name', name),
  };
}

function present(name: string, value: string | null): object {
  return value === null ? {} : { [name]: value };
}
