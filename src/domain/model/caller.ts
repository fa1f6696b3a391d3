/** The role that may do everything, unless a policy says otherwise. */
export const ADMIN = 'admin';

/** The project of administrators that the service itself knows: the first token's and the configured one's. */
export const ADMIN_PROJECT = 'admin';

/** Whoever makes a request, as the token says. */
export interface Caller {
  /** The id of the credential, or of the user behind it where an identity service knows one. It goes to the log. */
  readonly id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly projectId: string | null;
  /** True when this request is about the resources of all projects. */
  readonly allProjects: boolean;
  /** What an identity service says of the caller; absent for the service's own tokens. */
  readonly identity?: Identity;
}

/** What a caller's roles are for: one project, one domain (a group of projects and users), the whole system, or nothing. */
export type Scope = 'project' | 'domain' | 'system' | 'none';

/** A caller as an identity service knows it. */
export interface Identity {
  readonly userId: string;
  /** The domain that the user belongs to. */
  readonly userDomainId: string;
  readonly scope: Scope;
  /** The domain that the roles are for, when the scope is one. */
  readonly domainId: string | null;
}

/** Tells whether `text` could be the id of a project: 1 to 64 letters, digits and `_ . : -`. */
export function isProjectId(text: string): boolean {
  return /^[A-Za-z0-9_.:-]{1,64}$/.test(text);
}
