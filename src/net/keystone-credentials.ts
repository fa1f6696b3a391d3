export type CredentialKind = 'password' | 'application_credential' | 'token';

/**
 * The members of `auth` in clouds.yaml, by name, such as `username`, `password` and `project_name`.
 */
export type Credentials = Readonly<Record<string, string | undefined>>;

export class MissingCredentialError extends Error {
  readonly member: string;

  constructor(member: string) {
    super(`The credentials have no ${member}`);
    this.name = 'MissingCredentialError';
    this.member = member;
  }
}

/**
 * Returns the `auth` member of a request for a token (Keystone API v3, "Authentication and token
 * management"). Throws `MissingCredentialError` if a member is missing.
 */
export function authOf(kind: CredentialKind, credentials: Credentials): object {
  switch (kind) {
    case 'application_credential': {
      const secret = required(credentials, 'application_credential_secret');
      const { application_credential_id: id } = credentials;
      const named = () => ({
        name: required(credentials, 'application_credential_name'),
        user: userOf(credentials),
      });
      // Keystone rejects a request with a scope, because an application credential has a fixed
      // project.
      return {
        identity: {
          methods: ['application_credential'],
          application_credential: { ...(id === undefined ? named() : { id }), secret },
        },
      };
    }
    case 'token':
      return {
        identity: { methods: ['token'], token: { id: required(credentials, 'token') } },
        ...scopeOf(credentials),
      };
    case 'password': {
      const user = userOf(credentials);
      const password = { user: { ...user, password: required(credentials, 'password') } };
      return { identity: { methods: ['password'], password }, ...scopeOf(credentials) };
    }
  }
}

function userOf(credentials: Credentials): object {
  if (credentials.user_id !== undefined) return { id: credentials.user_id };
  return { name: required(credentials, 'username'), domain: domainOf(credentials, 'user_domain') };
}

function scopeOf(credentials: Credentials): object {
  const {
    project_id: projectId,
    project_name: projectName,
    system_scope: system,
    domain_id: domainId,
    domain_name: domainName,
  } = credentials;
  if (projectId !== undefined) return { scope: { project: { id: projectId } } };
  if (projectName !== undefined)
    return {
      scope: { project: { name: projectName, domain: domainOf(credentials, 'project_domain') } },
    };
  if (system !== undefined) return { scope: { system: { all: true } } };
  if (domainId !== undefined) return { scope: { domain: { id: domainId } } };
  return domainName === undefined ? {} : { scope: { domain: { name: domainName } } };
}

/**
 * Returns the domain that `prefix` names, or the default domain. The id of the default domain is
 * `default` unless the credentials contain another id.
 */
function domainOf(credentials: Credentials, prefix: 'user_domain' | 'project_domain'): object {
  const id = credentials[`${prefix}_id`];
  const name = credentials[`${prefix}_name`];
  const { default_domain_id: defaultId = 'default', default_domain_name: defaultName } =
    credentials;
  if (id !== undefined) return { id };
  if (name !== undefined) return { name };
  return defaultName === undefined ? { id: defaultId } : { name: defaultName };
}

function required(credentials: Credentials, member: string): string {
  const value = credentials[member];
  if (value === undefined) throw new MissingCredentialError(member);
  return value;
}
