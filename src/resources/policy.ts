import { ADMIN, type Caller } from '../core/caller.ts';
import { ServiceError } from '../core/errors.ts';
import type { ResourceType } from '../core/resource.ts';
import { revealRight } from '../core/response.ts';
import { AGENT_RIGHTS, GRANT_RIGHT, keepsRight, kindsWith, ROTATION_RIGHTS } from './limits.ts';
import { nameServer } from './name-server.ts';
import { pool } from './pool.ts';
import { RESOURCE_TYPES } from './resources.ts';
import { token } from './token.ts';
import { tsigkey } from './tsigkey.ts';
import { zone } from './zone.ts';
import { CHOOSE_POOL } from './zone-fields.ts';

/** The roles that have a right, by the name of the right, such as `tlds:list`. */
export type Policy = Readonly<Record<string, readonly string[]>>;

export const RESUME_RIGHT = 'nameservers:resume';

/** The right to check the requirements of a name server, which shows paths on its host. */
export const CHECK_RIGHT = 'nameservers:check';

/** The right to read and verify the audit trail of all projects. */
export const AUDIT_RIGHT = 'audit:list';

/** The rights to read and change, or only to read, the resources of all projects. */
export const ALL_PROJECTS = 'all_projects';
export const READ_ALL_PROJECTS = 'read_all_projects';

/** The rights that are not operations on a collection. */
const FURTHER_RIGHTS = [
  'use_sudo',
  ALL_PROJECTS,
  READ_ALL_PROJECTS,
  'edit_managed_records',
  'hard_delete',
  'encryption:get',
  'encryption:manage',
  AUDIT_RIGHT,
  ...RESOURCE_TYPES.flatMap(computedFilterRights),
  CHOOSE_POOL,
  ...RESOURCE_TYPES.flatMap(revealRights),
  GRANT_RIGHT,
  ...ROTATION_RIGHTS,
  ...AGENT_RIGHTS,
  RESUME_RIGHT,
  CHECK_RIGHT,
] as const;

export const AGENT_ROLE = 'nameserver-agent';

/**
 * The roles, other than `admin`, whose rights are not limited to the zones of one project. The role
 * `auditor` reads everything except secrets. The role `keymanager` manages keys, and reads what it
 * needs for them: pools, zones and name servers. The role `nameserver-agent` is for agents.
 */
const GLOBAL_ROLES: Readonly<Record<string, readonly string[]>> = {
  auditor: [
    ...RESOURCE_TYPES.flatMap(readRights),
    ...RESOURCE_TYPES.flatMap(computedFilterRights),
    READ_ALL_PROJECTS,
    AUDIT_RIGHT,
    CHECK_RIGHT,
  ],
  keymanager: [
    ...tsigkey.operations.map((operation) => `${tsigkey.collection}:${operation}`),
    ...revealRights(tsigkey),
    GRANT_RIGHT,
    ...ROTATION_RIGHTS,
    ...[pool, zone, nameServer].flatMap(readRights),
    READ_ALL_PROJECTS,
    CHECK_RIGHT,
  ],
  [AGENT_ROLE]: AGENT_RIGHTS,
};

function readRights({ collection, operations }: ResourceType): string[] {
  return operations
    .filter((operation) => operation === 'list' || operation === 'get')
    .map((operation) => `${collection}:${operation}`);
}

function revealRights(type: ResourceType): string[] {
  const right = revealRight(type);
  return right === undefined ? [] : [right];
}

function computedFilterRights({ computedFilters = {} }: ResourceType): string[] {
  return Object.values(computedFilters).flatMap(({ right }) => right ?? []);
}

export const DEFAULT_POLICY: Policy = Object.fromEntries(
  [
    ...RESOURCE_TYPES.flatMap((type) =>
      type.operations.map(
        (operation) =>
          [`${type.collection}:${operation}`, type.roles?.[operation] ?? [ADMIN]] as const,
      ),
    ),
    ...FURTHER_RIGHTS.map((right) => [right, [ADMIN]] as const),
  ].map(([right, roles]) => [
    right,
    [...roles, ...Object.keys(GLOBAL_ROLES).filter((role) => GLOBAL_ROLES[role]?.includes(right))],
  ]),
);

/**
 * The rights that a configuration may give to other roles. Rights on tokens are excluded, because a
 * caller who can create tokens can get every right.
 */
export const CONFIGURABLE_RIGHTS: readonly string[] = Object.keys(DEFAULT_POLICY).filter(
  (right) => !right.startsWith(`${token.collection}:`),
);

/** Returns the names of the roles that have any right, sorted. */
export function rolesOf(policy: Policy): string[] {
  return [...new Set(Object.values(policy).flat())].sort();
}

/**
 * Returns whether `caller` has `right` and the limits of its token include the right. Compares
 * roles ignoring case. Denies a right that the policy does not list.
 */
export function may(policy: Policy, caller: Caller, right: string): boolean {
  // The response to an agent has the secrets of all its keys, and a session of the console gets none.
  if (caller.session !== undefined && AGENT_RIGHTS.some((each) => each === right)) return false;
  if (caller.limits !== undefined && !keepsRight(caller.limits, right)) return false;
  return hasRole(policy, caller, right);
}

function hasRole(policy: Policy, caller: Caller, right: string): boolean {
  const allowed = policy[right] ?? [];
  return heldRoles(caller).some((role) =>
    allowed.some((name) => name.toLowerCase() === role.toLowerCase()),
  );
}

/**
 * Returns the names of a caller's roles in a policy, such as `reader`. If an identity service
 * states the scope, also returns `system:reader`. Roles for a domain count only as `domain:reader`,
 * because they grant no rights in other domains.
 */
function heldRoles({ roles, scope }: Caller): string[] {
  if (scope === undefined) return [...roles];
  const scoped = roles.map((role) => `${scope}:${role}`);
  return scope === 'domain' ? scoped : [...roles, ...scoped];
}

/**
 * Throws `access_denied` unless a role of `caller` has `right`. Throws `outside_limits` unless the
 * limits of the token include the right.
 */
export function requireRight(policy: Policy, caller: Caller, right: string): void {
  if (may(policy, caller, right)) return;
  if (!hasRole(policy, caller, right))
    throw new ServiceError('access_denied', { right, roles: policy[right] ?? [] });
  const kinds = kindsWith(right);
  const others = kinds.length === 0 ? 'without limits' : `limited to ${kinds.join(' or ')}`;
  throw new ServiceError('outside_limits', `the right '${right}'. Use a token ${others}`);
}

/** Returns whether requests with a right may change resources that belong to a project. */
function changesOwned(right: string): boolean {
  const [collection, operation = ''] = right.split(':');
  return (
    !['list', 'get'].includes(operation) &&
    RESOURCE_TYPES.some((type) => type.collection === collection && type.owner !== undefined)
  );
}

/** Throws `access_denied` unless a request that requires `right` may cover all projects. */
export function requireAllProjects(policy: Policy, caller: Caller, right: string): void {
  const isRead = !changesOwned(right);
  if (isRead && may(policy, caller, ALL_PROJECTS)) return;
  requireRight(policy, caller, isRead ? READ_ALL_PROJECTS : ALL_PROJECTS);
}

/**
 * Returns the caller of a request that requires `right`. A caller without a project owns nothing,
 * so its requests cover all projects if it has the right to that.
 */
export function withReach(policy: Policy, caller: Caller, right: string): Caller {
  if (caller.projectId !== null || caller.allProjects) return caller;
  const allProjects =
    may(policy, caller, ALL_PROJECTS) ||
    (!changesOwned(right) && may(policy, caller, READ_ALL_PROJECTS));
  return allProjects ? { ...caller, allProjects } : caller;
}

/**
 * Returns whether `caller` may take a key by force from a name server whose configuration names it:
 * only if it may see which line that is.
 */
export function mayForce(policy: Policy, caller: Caller): boolean {
  return caller.limits === undefined && may(policy, caller, 'nameservers:list');
}

/** Returns whether `caller` may see the secrets of a type. True for a type without secrets. */
export function mayReveal(policy: Policy, caller: Caller, type: ResourceType): boolean {
  const right = revealRight(type);
  return right === undefined || may(policy, caller, right);
}

/** Throws `access_denied` unless `caller` may see the secrets of a type. */
export function requireReveal(policy: Policy, caller: Caller, type: ResourceType): void {
  const right = revealRight(type);
  if (right !== undefined) requireRight(policy, caller, right);
}
