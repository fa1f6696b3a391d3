import { parseTimestamp } from '../domain/model/field.ts';
import type { Caller, Scope } from '../domain/model/caller.ts';

/** A token that Keystone validated. */
export interface ValidToken {
  readonly caller: Caller;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * The members of a token in a response that the service reads (Keystone API v3, "Validate and show
 * information for token").
 */
interface Description {
  readonly expires_at: string;
  readonly issued_at: string;
  readonly user: {
    readonly id: string;
    readonly name: string;
    readonly domain: { readonly id: string };
  };
  readonly roles?: readonly { readonly name: string }[];
  readonly project?: { readonly id: string };
  readonly domain?: { readonly id: string };
  readonly system?: { readonly all: boolean };
}

/**
 * Reads the response body of a token validation. Returns undefined if it does not match the API.
 */
export function readToken(body: unknown): ValidToken | undefined {
  const description = (body as { token?: unknown } | undefined)?.token;
  if (!isDescription(description)) return undefined;
  const { user, roles = [], project, domain } = description;
  const scope = scopeOf(description);
  const expires = Date.parse(description.expires_at);
  const caller: Caller = {
    id: user.id,
    name: user.name,
    roles: roles.map(({ name }) => name),
    projectId: project?.id ?? null,
    expiresAt: parseTimestamp(description.expires_at) ?? null,
    allProjects: false,
    identity: {
      userId: user.id,
      userDomainId: user.domain.id,
      scope,
      domainId: domain?.id ?? null,
    },
  };
  return { caller, expiresAt: expires };
}

/**
 * Returns the lifetime of a token, from its issue to its expiry. Both times are from Keystone's
 * clock, so clock skew has no effect.
 */
export function readLifetimeSeconds(body: unknown): number | undefined {
  const { issued_at: issued, expires_at: expires } = ((body as { token?: unknown } | undefined)
    ?.token ?? {}) as Partial<Description>;
  const seconds = (Date.parse(expires ?? '') - Date.parse(issued ?? '')) / 1000;
  return Number.isNaN(seconds) ? undefined : seconds;
}

function scopeOf({ project, domain, system }: Description): Scope {
  if (project !== undefined) return 'project';
  if (domain !== undefined) return 'domain';
  return system?.all === true ? 'system' : 'none';
}

function isDescription(value: unknown): value is Description {
  const {
    user,
    roles,
    project,
    domain,
    expires_at: expiresAt,
  } = (value ?? {}) as Record<string, unknown>;
  return (
    hasText(user, 'id') &&
    hasText(user, 'name') &&
    hasText((user as { domain?: unknown }).domain, 'id') &&
    (roles === undefined ||
      (Array.isArray(roles) && roles.every((role) => hasText(role, 'name')))) &&
    (project === undefined || hasText(project, 'id')) &&
    (domain === undefined || hasText(domain, 'id')) &&
    typeof expiresAt === 'string' &&
    !Number.isNaN(Date.parse(expiresAt))
  );
}

function hasText(value: unknown, member: string): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Record<string, unknown>)[member] === 'string'
  );
}
