import type { Networks } from './text/networks.ts';

/** The role with every right, unless a policy changes its rights. */
export const ADMIN = 'admin';

/** The administrators' project: the project of the first token and of the configured token. */
export const ADMIN_PROJECT = 'admin';

/** The id of the caller with the configured token. The first token's creator also has this id. */
export const CONFIGURED_ID = 'configured';

/** The kinds of limits of a token, by the name of the token's member that lists the ids. */
export const LIMIT_KINDS = ['pools', 'zones', 'keys', 'nameservers'] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

/** The ids of each kind of limit. A resource is within the limits if any kind includes it. */
export type Limits = Readonly<Partial<Record<LimitKind, readonly string[]>>>;

export interface Caller {
  /** The id of the token, or of the user of an identity service. The service logs this id. */
  readonly id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly projectId: string | null;
  /** The timestamp at which the token expires. Null or absent if the token does not expire. */
  readonly expiresAt?: string | null;
  /** Whether the request covers the resources of all projects. */
  readonly allProjects: boolean;
  readonly limits?: Limits;
  /** The networks from which the token is valid. Absent if it is valid from every address. */
  readonly addresses?: Networks;
  /** The scope of the roles. Absent for the service's own tokens. */
  readonly scope?: Scope;
  /** The console session, to which responses omit secrets. Absent for a request with a token. */
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

/** The scope of roles from an identity service. A domain is a group of projects and users. */
export type Scope = 'project' | 'domain' | 'system' | 'none';

export function isProjectId(text: string): boolean {
  return /^[A-Za-z0-9_.:-]{1,64}$/.test(text);
}
