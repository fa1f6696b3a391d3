import { ADMIN, type Caller } from '../model/caller.ts';
import { ServiceError } from '../model/errors.ts';
import { RESOURCE_TYPES, IMPORTABLE_TYPES, importRight } from './resources.ts';
import { token } from './token.ts';
import { CHOOSE_POOL } from './zone-fields.ts';

/** The roles that may do each operation, by operation: `tlds:list`. */
export type Policy = Readonly<Record<string, readonly string[]>>;

/** The rights that are not operations on collections: to change how a request is meant, or to ask for more than others. */
export const FURTHER_RIGHTS = [
  'use_sudo',
  'all_projects',
  'edit_managed_records',
  'hard_delete',
  ...RESOURCE_TYPES.flatMap((type) =>
    Object.values(type.questions ?? {}).flatMap(({ right }) => right ?? []),
  ),
  CHOOSE_POOL,
  ...IMPORTABLE_TYPES.map(importRight),
] as const;

/** Who may do what when the configuration says nothing. */
export const DEFAULT_POLICY: Policy = {
  ...Object.fromEntries(
    RESOURCE_TYPES.flatMap((type) =>
      type.operations.map((operation) => [
        `${type.collection}:${operation}`,
        type.roles?.[operation] ?? [ADMIN],
      ]),
    ),
  ),
  ...Object.fromEntries(FURTHER_RIGHTS.map((right) => [right, [ADMIN]])),
};

/** The rights a configuration may open to other roles. Those on tokens are not among them: who makes tokens can be anyone. */
export const CONFIGURABLE_RIGHTS: readonly string[] = Object.keys(DEFAULT_POLICY).filter(
  (right) => !right.startsWith(`${token.collection}:`),
);

/** Tells whether `caller` may do `right`. Roles compare without regard to case. A right nobody listed is nobody's. */
export function may(policy: Policy, caller: Caller, right: string): boolean {
  const allowed = policy[right] ?? [];
  return heldRoles(caller).some((role) =>
    allowed.some((name) => name.toLowerCase() === role.toLowerCase()),
  );
}

/**
 * The names under which a policy may mean a caller's roles: `reader` and, where an identity service says what the role is for,
 * `system:reader`. Whoever rules one domain rules no other, so roles for a domain count under `domain:reader` alone.
 */
function heldRoles({ roles, identity }: Caller): string[] {
  if (identity === undefined) return [...roles];
  const scoped = roles.map((role) => `${identity.scope}:${role}`);
  return identity.scope === 'domain' ? scoped : [...roles, ...scoped];
}

/** Throws `access_denied` unless `caller` may do `right`. */
export function requireRight(policy: Policy, caller: Caller, right: string): void {
  if (!may(policy, caller, right)) throw new ServiceError('access_denied', right);
}
