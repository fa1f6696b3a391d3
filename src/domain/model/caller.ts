import type { Networks } from '../text/networks.ts';

/** The role with every right, unless a policy changes its rights. */
export const ADMIN = 'admin';

/** The administrators' project: the project of the first token and of the configured token. */
export const ADMIN_PROJECT = 'admin';

/** The id of the caller with the configured token. The first token's creator also has this id. */
export const CONFIGURED_ID = 'configured';

/**
 * The kinds of limits that a token can have. Each kind has the name of the token's member that
 * lists the ids.
 */
export const LIMIT_KINDS = ['pools', 'zones', 'keys', 'nameservers'] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

/**
 * The limits of a token: the ids that each kind of limit includes. A resource is within the limits
 * if any kind includes it.
 */
export type Limits = Readonly<Partial<Record<LimitKind, readonly string[]>>>;

/** The caller of a request, as identified by its token. */
export interface Caller {
  /**
   * The id of the token, or of the user if an identity service validated the token. The service
   * logs this id.
   */
  readonly id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly projectId: string | null;
  /** The timestamp at which the token expires. Null or absent if the token does not expire. */
  readonly expiresAt?: string | null;
  /** Whether the request covers the resources of all projects. */
  readonly allProjects: boolean;
  /** The limits of the token. Absent for a token without limits. */
  readonly limits?: Limits;
  /**
   * The networks from which the token is valid. Absent if the token is valid from every address.
   */
  readonly addresses?: Networks;
  /** The scope of the roles. Absent for the service's own tokens. */
  readonly scope?: Scope;
  /**
   * The session of the web console that the request belongs to. Absent for a request with a token.
   * Responses to a session omit secrets.
   */
  readonly session?: CallerSession;
}

export interface CallerSession {
  readonly id: string;
  readonly signedInAt: string;
  /** The timestamp at which the session ends at the latest. */
  readonly expiresAt: string;
  /** The timestamp of the last request that counts as use. */
  readonly seenAt: string;
}

/**
 * The scope of roles from an identity service: one project, one domain, the whole system, or none. A
 * domain is a group of projects and users.
 */
export type Scope = 'project' | 'domain' | 'system' | 'none';

/** Returns whether `text` could be the id of a project: 1 to 64 letters, digits and `_ . : -`. */
export function isProjectId(text: string): boolean {
  return /^[A-Za-z0-9_.:-]{1,64}$/.test(text);
}
