import type { Caller } from './caller.ts';
import type { ResourceType } from './resource.ts';
import { withoutTokens } from './text/token-form.ts';

/** `keystone` is a user of Keystone, `service` Tsigil itself, and `local` a command on its host. */
export const ACTOR_KINDS = ['token', 'keystone', 'service', 'local'] as const;
type ActorKind = (typeof ACTOR_KINDS)[number];

/** The outcome of an event. `denied` means that the caller lacked a right. */
export const OUTCOMES = ['success', 'denied', 'failed'] as const;
export type AuditOutcome = (typeof OUTCOMES)[number];

/** `counted` combines reads of secrets per minute. `each` records a read before its response. */
export const SECRET_READS = ['off', 'counted', 'each'] as const;
export type SecretReads = (typeof SECRET_READS)[number];

/** An audit record without the numbers that the database assigns. */
export interface AuditEntry {
  /** The time of the event, in the timestamp format of the API. */
  readonly at: string;
  /** Null for an event without a request, and for a record that combines requests. */
  readonly request_id: string | null;
  readonly global_request_id: string | null;
  readonly actor_kind: ActorKind;
  readonly actor_id: string;
  readonly actor_name: string;
  readonly roles: readonly string[];
  readonly project_id: string | null;
  readonly source: string | null;
  /** The right that the request required, such as `tsigkeys:update`, or the name of a command. */
  readonly action: string;
  readonly resource_type: string | null;
  /** Null for an event about several resources or no resource. */
  readonly resource_id: string | null;
  readonly resource_name: string | null;
  readonly outcome: AuditOutcome;
  /**
   * A JSON object. A secret appears only as a truncated HMAC, or as `(secret)` without an audit
   * key. A token appears as `(a token)`.
   */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A record of the audit trail, in the format of responses. */
export interface AuditRecord extends AuditEntry {
  /** The number that the database assigned. Numbers do not follow the order of commits. */
  readonly seq: number;
  /** Null until the service seals the record in a batch. After that, the record never changes. */
  readonly batch: number | null;
}

/** A record in the stored form, with lists and objects as JSON text. */
export type StoredRecord = Omit<AuditRecord, 'roles' | 'detail'> & {
  readonly roles: string;
  readonly detail: string;
};

/** The columns of an entry, in the order that SQL statements and hashes of batches use. */
export const ENTRY_COLUMNS = [
  'at',
  'request_id',
  'global_request_id',
  'actor_kind',
  'actor_id',
  'actor_name',
  'roles',
  'project_id',
  'source',
  'action',
  'resource_type',
  'resource_id',
  'resource_name',
  'outcome',
  'detail',
] as const satisfies readonly (keyof StoredRecord)[];

export function shownRecord(stored: StoredRecord): AuditRecord {
  return {
    ...stored,
    roles: JSON.parse(stored.roles) as string[],
    detail: JSON.parse(stored.detail) as Record<string, unknown>,
  };
}

export interface AuditOrigin {
  readonly caller: Caller;
  /** The default is `keystone` for a Keystone user, and `token` for any other caller. */
  readonly actorKind?: ActorKind | undefined;
  readonly requestId?: string | undefined;
  /** The request id that the caller sent. */
  readonly globalRequestId?: string | undefined;
  readonly source?: string | undefined;
}

export const SERVICE: AuditOrigin = {
  caller: { id: 'service', name: 'tsigil', roles: [], projectId: null, allProjects: true },
  actorKind: 'service',
};

export interface AuditSubject {
  readonly at: string;
  readonly action: string;
  readonly outcome?: AuditOutcome;
  readonly type?: Pick<ResourceType, 'collection'> | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export function auditEntry(
  { caller, actorKind, requestId, globalRequestId, source }: AuditOrigin,
  { at, action, outcome = 'success', type, id, name, detail = {} }: AuditSubject,
): AuditEntry {
  return {
    at,
    request_id: requestId ?? null,
    global_request_id: globalRequestId ?? null,
    actor_kind: actorKind ?? (caller.scope === undefined ? 'token' : 'keystone'),
    actor_id: caller.id,
    actor_name: withoutTokens(caller.name),
    roles: caller.roles,
    project_id: caller.projectId,
    source: source ?? null,
    action,
    resource_type: type?.collection ?? null,
    resource_id: id ?? null,
    resource_name: name === undefined ? null : withoutTokens(name),
    outcome,
    detail,
  };
}
