import type { ActorKind, AuditEntry, AuditOutcome } from '../core/audit-record.ts';
import type { Caller } from '../core/caller.ts';
import type { Keyed } from '../core/query.ts';
import type {
  Admitted,
  Change,
  Fields,
  Resource,
  ResourceOf,
  ResourceType,
} from '../core/resource.ts';
import { perType } from '../core/resource.ts';
import { isUnreadable } from '../core/unreadable.ts';
import { withoutTokens } from '../core/text/token-form.ts';

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

const MAX_NAMES = 100;

/** Returns the fingerprint of a secret. Equal secrets have equal fingerprints. */
export type Fingerprint = (secret: string) => string;

const UNKNOWN_FINGERPRINT = '(secret)';

/** Returns the same fingerprint for every secret, for when no audit data key exists. */
export const hideSecret: Fingerprint = () => UNKNOWN_FINGERPRINT;

type Created<F extends Fields> = Keyed<ResourceOf<F>> & { readonly operation: 'create' };

export interface ChangeLog {
  /** `further` has what the record shows besides fields, and the right if it is not the operation. */
  note<F extends Fields>(
    type: ResourceType<F>,
    change: Change<F> | Created<F>,
    further?: Pick<Admitted, 'recorded'> & { readonly right?: string },
  ): void;
  /**
   * Returns the audit entry, or undefined if nothing was changed. The entry has all values of a
   * single change, or counts and names for several changes. `action` is the name of an action that
   * changes many resources, perhaps of several types, and `right` the right of any other action.
   */
  entry(
    origin: AuditOrigin,
    subject: {
      readonly action?: string | undefined;
      readonly right?: string | undefined;
    } & Pick<AuditSubject, 'detail'>,
    at: string,
    fingerprint: Fingerprint,
  ): AuditEntry | undefined;
}

export function createChangeLog(): ChangeLog {
  let first:
    | {
        readonly type: ResourceType;
        readonly change: Change;
        readonly right: string | undefined;
        readonly recorded: Admitted['recorded'];
      }
    | undefined;
  let total = 0;
  let isMixed = false;
  const counts = { create: 0, update: 0, delete: 0 };
  const names: string[] = [];
  return {
    note(type, change, further) {
      // safe: a type's definition fits the resources of that type
      const noted = { type, change } as unknown as { type: ResourceType; change: Change };
      first ??= {
        type: noted.type,
        change: noted.change,
        recorded: further?.recorded,
        right: further?.right,
      };
      isMixed ||= noted.type !== first.type;
      total += 1;
      counts[change.operation] += 1;
      if (total > 1 && total <= MAX_NAMES) names.push(nameOf(noted.type, noted.change.resource));
    },
    entry(origin, { action, right: given, detail = {} }, at, fingerprint) {
      if (first === undefined) return undefined;
      const { type, change, recorded = {}, right } = first;
      const name = nameOf(type, change.resource);
      if (total === 1 && action === undefined)
        return auditEntry(origin, {
          at,
          action: given ?? right ?? `${type.collection}:${change.operation}`,
          type,
          id: change.resource.id,
          name,
          detail: { changes: { ...changedValues(type, change, fingerprint), ...recorded } },
        });
      const done = Object.entries(counts).filter(([, count]) => count > 0);
      return auditEntry(origin, {
        at,
        action: action ?? given ?? `${type.collection}:${change.operation}`,
        type: isMixed ? undefined : type,
        detail: {
          ...detail,
          counts: Object.fromEntries(done),
          names: [name, ...names].map(withoutTokens),
        },
      });
    },
  };
}

function nameOf({ unique }: ResourceType, resource: Readonly<Record<string, unknown>>): string {
  return String(resource[unique?.field ?? 'id']);
}

const recordedFields = perType((type): readonly (readonly [name: string, isSecret: boolean])[] =>
  Object.entries(type.fields)
    .filter(([, { secret, set }]) => secret === true || set !== 'hidden')
    .map(([name, { secret }]) => [name, secret === true]),
);

function changedValues(
  type: ResourceType,
  change: Change,
  fingerprint: Fingerprint,
): Record<string, [before: unknown, after: unknown]> {
  const { operation } = change;
  const removed: Partial<Resource> = operation === 'delete' ? change.resource : {};
  const before: Partial<Resource> = operation === 'update' ? change.current : removed;
  const after: Partial<Resource> = operation === 'delete' ? {} : change.resource;
  const values: Record<string, [unknown, unknown]> = {};
  for (const [name, isSecret] of recordedFields(type)) {
    const shown = (value: unknown) => {
      if (value === null) return null;
      if (!isSecret) return shownValue(value);
      return typeof value === 'string' ? fingerprint(value) : '(unreadable)';
    };
    const [old, current] = [before[name] ?? null, after[name] ?? null];
    if (isEqual(old, current)) continue;
    values[name] = [shown(old), shown(current)];
  }
  return values;
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return false;
  if (isUnreadable(one) || isUnreadable(other)) return false;
  return JSON.stringify(one) === JSON.stringify(other);
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'string') return withoutTokens(value);
  if (typeof value !== 'object') return value;
  const text = JSON.stringify(value);
  const masked = withoutTokens(text);
  return masked === text ? value : JSON.parse(masked);
}
