import type { Caller } from '../../core/caller.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Clock, Reader } from '../../core/ports.ts';
import type { Condition } from '../../core/query.ts';
import type { Fields, Resource, ResourceOf, ResourceType } from '../../core/resource.ts';
import type { Settings } from '../../core/settings.ts';
import { isWithinLimits, limitCondition } from '../limits.ts';
import { requireReveal, type Policy } from '../policy.ts';
import { requireRecentSignIn } from '../session.ts';

/**
 * Restricts a list to the token's limits and, if its type has an owner, to the caller's project.
 */
export function listConditions(
  type: ResourceType,
  { allProjects, projectId, limits }: Caller,
  conditions: readonly Condition[],
): readonly Condition[] {
  const isOwned = type.owner !== undefined && !allProjects;
  if (!isOwned && limits === undefined) return conditions;
  const own: Condition[] = isOwned
    ? [{ field: type.owner, test: '=', value: projectId ?? '' }]
    : [];
  return [...conditions, ...own, ...(limits === undefined ? [] : [limitCondition(limits, type)])];
}

/** The conditions of `listConditions` for one resource. A promise only if the token has limits. */
export function isVisible(
  reader: Pick<Reader, 'find'>,
  type: ResourceType,
  { allProjects, projectId, limits }: Caller,
  resource: Resource,
): boolean | Promise<boolean> {
  const isOwn = type.owner === undefined || allProjects || resource[type.owner] === projectId;
  return isOwn && limits !== undefined ? isWithinLimits(limits, type, resource, reader) : isOwn;
}

/** Returns `resource` if the caller can see it. Otherwise, throws `resource_not_found`. */
export async function existing<F extends Fields>(
  reader: Pick<Reader, 'find'>,
  type: ResourceType<F>,
  caller: Caller,
  resource: ResourceOf<F> | undefined,
): Promise<ResourceOf<F>> {
  if (resource === undefined) throw new ServiceError('resource_not_found', type);
  const visible = isVisible(reader, type, caller, resource);
  if (!(typeof visible === 'boolean' ? visible : await visible))
    throw new ServiceError('resource_not_found', type);
  return resource;
}

/**
 * Call it before an action shows a secret of a type. Throws `access_denied` without the
 * right, and `sign_in_again` for a session of the web console that needs a recent sign-in.
 */
export function requireShown(
  {
    policy,
    settings,
    clock,
  }: { readonly policy: Policy; readonly settings: Settings; readonly clock: Clock },
  caller: Caller,
  type: ResourceType,
): void {
  requireReveal(policy, caller, type);
  requireRecentSignIn(settings, caller, clock());
}
