import {
  auditEntry,
  type AuditEntry,
  type AuditOrigin,
  type AuditSubject,
} from '../core/audit-record.ts';
import { perType, type Resource, type ResourceType } from '../core/resource.ts';
import { isUnreadable } from '../core/unreadable.ts';
import { withoutTokens } from '../core/text/token-form.ts';
import type { NotedChange } from '../resources/operations/change.ts';

const MAX_NAMES = 100;

/** Returns the fingerprint of a secret. Equal secrets have equal fingerprints. */
type Fingerprint = (secret: string) => string;

const UNKNOWN_FINGERPRINT = '(secret)';

/** Returns the same fingerprint for every secret, for when no audit data key exists. */
export const hideSecret: Fingerprint = () => UNKNOWN_FINGERPRINT;

interface ChangeLog {
  note(type: ResourceType, change: NotedChange): void;
  /**
   * Returns one entry for each change, with all its values. `action` is the name of an action that
   * changes many resources, perhaps of several types: it has one entry for all, with counts and
   * names. `right` is the right of any other action.
   */
  entries(
    origin: AuditOrigin,
    subject: {
      readonly action?: string | undefined;
      readonly right?: string | undefined;
    } & Pick<AuditSubject, 'detail'>,
    at: string,
    fingerprint: Fingerprint,
  ): AuditEntry[];
}

export function createChangeLog(): ChangeLog {
  const noted: { readonly type: ResourceType; readonly change: NotedChange }[] = [];
  return {
    note(type, change) {
      noted.push({ type, change });
    },
    entries(origin, { action, right, detail = {} }, at, fingerprint) {
      if (action === undefined)
        return noted.map(({ type, change }) =>
          auditEntry(origin, {
            at,
            action: right ?? change.right ?? `${type.collection}:${change.operation}`,
            type,
            id: change.resource.id,
            name: nameOf(type, change.resource),
            detail: {
              changes: { ...changedValues(type, change, fingerprint), ...change.recorded },
            },
          }),
        );
      const [first] = noted;
      if (first === undefined) return [];
      const counts: Partial<Record<NotedChange['operation'], number>> = {};
      for (const { change } of noted)
        counts[change.operation] = (counts[change.operation] ?? 0) + 1;
      const names = noted
        .slice(0, MAX_NAMES)
        .map(({ type, change }) => nameOf(type, change.resource));
      const isMixed = noted.some(({ type }) => type !== first.type);
      return [
        auditEntry(origin, {
          at,
          action,
          type: isMixed ? undefined : first.type,
          detail: { ...detail, counts, names: names.map(withoutTokens) },
        }),
      ];
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
  { operation, resource, current }: NotedChange,
  fingerprint: Fingerprint,
): Record<string, [before: unknown, after: unknown]> {
  const isDeletion = operation === 'delete';
  const before: Partial<Resource> = (isDeletion ? resource : current) ?? {};
  const after: Partial<Resource> = isDeletion ? {} : resource;
  const values: Record<string, [unknown, unknown]> = {};
  for (const [name, isSecret] of recordedFields(type)) {
    const shown = (value: unknown) => {
      if (value === null) return null;
      if (!isSecret) return shownValue(value);
      return typeof value === 'string' ? fingerprint(value) : '(unreadable)';
    };
    const [old, next] = [before[name] ?? null, after[name] ?? null];
    if (isEqual(old, next)) continue;
    values[name] = [shown(old), shown(next)];
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
