import type { Caller } from '../../core/caller.ts';
import { MAX_NAMED, ServiceError } from '../../core/errors.ts';
import type { Reader } from '../../core/ports.ts';
import type {
  Admission,
  Admitted,
  Change,
  Fields,
  ResourceOf,
  ResourceType,
} from '../../core/resource.ts';
import type { Settings } from '../../core/settings.ts';
import { isWithinLimits } from '../limits.ts';
import { may, requireRight, rolesOf, type Policy } from '../policy.ts';
import { zone } from '../zone.ts';
import type { Zone } from '../zone-fields.ts';
import { rulesOf } from '../rules.ts';
import { requestedPool } from '../zone-rules.ts';
import { listConditions } from './visibility.ts';

export interface AdmissionDependencies {
  readonly settings: Settings;
  readonly policy: Policy;
  randomBytes(size: number): Buffer;
}

/** Applies the rules of `type`. Throws `ServiceError` to reject the change. */
export async function admitChange<F extends Fields>(
  { settings, policy, randomBytes }: AdmissionDependencies,
  { caller, force = false }: { readonly caller: Caller; readonly force?: boolean },
  type: ResourceType<F>,
  change: Change<F>,
  reader: Reader,
  now: string,
): Promise<Admitted<F>> {
  if (caller.limits !== undefined) await assertWithinLimits(caller, type, change, reader);
  const rule = rulesOf(type);
  // safe: without rules, no field has an undefined default
  if (rule?.admit === undefined) return { resource: change.resource as ResourceOf<F> };
  const admission: Admission = {
    caller,
    settings,
    randomBytes,
    force,
    now,
    requireRight: (right) => {
      requireRight(policy, caller, right);
    },
    roles: () => rolesOf(policy),
    async visibleNames(of, conditions) {
      if (!may(policy, caller, `${of.collection}:list`)) return [];
      const found = await reader.list(of, {
        limit: MAX_NAMED + 1,
        sortField: 'created_at',
        descending: false,
        conditions: listConditions(of, caller, conditions),
      });
      return found.map(({ name }) => String(name));
    },
  };
  return rule.admit(change, reader, admission);
}

/**
 * Throws `outside_limits` unless a change leaves the resource within the limits of the caller. Call
 * this function before the rules of the type. The errors of the rules then reveal nothing about
 * other resources.
 */
export async function assertWithinLimits(
  { limits }: Caller,
  type: ResourceType,
  change: Change,
  reader: Reader,
): Promise<void> {
  if (limits === undefined) return;
  const { resource } = change;
  const members: Readonly<Record<string, unknown>> =
    type === zone && change.operation === 'create'
      ? { ...resource, pool_id: requestedPool(resource as Zone).id } // safe: the type is `zone`
      : resource;
  const current = change.operation === 'update' ? change.current : undefined;
  if (!(await isWithinLimits(limits, type, members, reader, current)))
    throw new ServiceError('outside_limits', `this ${type.title}`);
}
