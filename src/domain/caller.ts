/** The role that may do everything, unless a policy says otherwise. */
export const ADMIN = 'admin';

/** The project of administrators that the service itself knows: the first token's and the configured one's. */
export const ADMIN_PROJECT = 'admin';

/** Whoever makes a request, as the token says. */
export interface Caller {
  /** The id of the credential; it goes to the log. */
  readonly id: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly projectId: string | null;
  /** True when this request is about the resources of all projects. */
  readonly allProjects: boolean;
}

/** Tells whether `text` could be the id of a project: 1 to 64 letters, digits and `_ . : -`. */
export function isProjectId(text: string): boolean {
  return /^[A-Za-z0-9_.:-]{1,64}$/.test(text);
}
