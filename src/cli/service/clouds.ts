import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../domain/model/field.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { yaml } from '../output/yaml.ts';
import type { CredentialKind } from '../../net/keystone-credentials.ts';
import { readTextFile } from './input.ts';

type AuthType = CredentialKind | 'admin_token' | 'none';

/** The authentication methods by their names in `auth_type`. A method can have several names. */
const AUTH_TYPES = new Map<string, AuthType>([
  ['password', 'password'],
  ['v3password', 'password'],
  ['v3applicationcredential', 'application_credential'],
  ['token', 'token'],
  ['v3token', 'token'],
  ['admin_token', 'admin_token'],
  ['token_endpoint', 'admin_token'],
  ['none', 'none'],
]);

/** A cloud with its credentials, as in clouds.yaml or OpenStack's `OS_*` variables. */
export interface Cloud {
  /** The subject of messages about the cloud, such as `The environment`. */
  readonly source: string;
  readonly authType: AuthType;
  /** The members of `auth` in clouds.yaml, such as `auth_url` and `password`, by name. */
  readonly auth: Readonly<Record<string, string>>;
  readonly region: string | undefined;
  readonly interface: string;
  /** The URL of the service, which overrides the service catalogue. */
  readonly endpoint: string | undefined;
  /** A file with CA certificates. */
  readonly cacert: string | undefined;
  readonly verify: boolean;
}

type Tree = Readonly<Record<string, unknown>>;

/**
 * The members of `auth`, each with a list of additional variables. Each member also has a variable
 * whose name is `OS_` followed by the name of the member in capitals.
 */
const AUTH_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  auth_url: [],
  username: [],
  user_id: [],
  password: [],
  user_domain_id: [],
  user_domain_name: [],
  project_id: ['OS_TENANT_ID'],
  project_name: ['OS_TENANT_NAME'],
  project_domain_id: [],
  project_domain_name: [],
  domain_id: [],
  domain_name: [],
  default_domain_id: [],
  default_domain_name: ['OS_DEFAULT_DOMAIN'],
  system_scope: [],
  application_credential_id: [],
  application_credential_name: [],
  application_credential_secret: [],
  token: [],
  endpoint: ['OS_URL'],
};

/**
 * Returns the cloud that `name` or `OS_CLOUD` selects in `clouds.yaml`, or else the cloud in `OS_*`
 * variables. Returns undefined if neither is set. Throws `CommandError` if the cloud does not exist
 * or is incomplete.
 */
export function findCloud(
  name: string | undefined,
  environment: NodeJS.ProcessEnv,
): Cloud | undefined {
  const wanted = name ?? (environment.OS_CLOUD || undefined);
  if (wanted !== undefined) return readCloud(wanted, environment);
  const auth = readVariables(environment);
  if (auth.auth_url === undefined && auth.endpoint === undefined) return undefined;
  return toCloud('The environment', { auth }, environment);
}

function readVariables(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(AUTH_MEMBERS).flatMap(([member, others]) => {
      const value = [`OS_${member.toUpperCase()}`, ...others]
        .map((variable) => environment[variable])
        .find(Boolean);
      return value === undefined ? [] : [[member, value]];
    }),
  );
}

/** Reads a cloud from `clouds.yaml`, with secrets from `secure.yaml` if this file exists. */
function readCloud(name: string, environment: NodeJS.ProcessEnv): Cloud {
  const path = fileNamed('clouds', environment.OS_CLIENT_CONFIG_FILE, environment);
  if (path === undefined) {
    const hint = `Create clouds.yaml in one of: ${foldersOf(environment).join(', ')}. Or set OS_CLIENT_CONFIG_FILE to the path of the file.`;
    throw new CommandError(EXIT.usage, `Unknown cloud '${name}': no clouds.yaml exists`, hint);
  }
  const clouds = cloudsIn(path);
  const cloud = clouds[name];
  if (!isObject(cloud)) {
    throw new CommandError(
      EXIT.usage,
      `Unknown cloud '${name}' in ${path}. Use one of: ${Object.keys(clouds).join(', ') || '(none defined)'}.`,
    );
  }
  const securePath = fileNamed('secure', environment.OS_CLIENT_SECURE_FILE, environment);
  const secure = securePath === undefined ? undefined : cloudsIn(securePath)[name];
  const auth = { ...treeAt(cloud, 'auth'), ...treeAt(secure, 'auth') };
  const password = environment.OS_PASSWORD;
  const completed = auth.password === undefined && password ? { password } : {};
  return toCloud(
    `The cloud '${name}' in ${path}`,
    { ...cloud, ...(isObject(secure) ? secure : {}), auth: { ...auth, ...completed } },
    environment,
  );
}

function toCloud(source: string, tree: Tree, environment: NodeJS.ProcessEnv): Cloud {
  const auth = Object.fromEntries(
    Object.entries(treeAt(tree, 'auth')).map(([member, value]) => [member, String(value)]),
  );
  const text = (member: string) =>
    ['string', 'number'].includes(typeof tree[member]) ? String(tree[member]) : undefined;
  const regions: readonly unknown[] = Array.isArray(tree.regions) ? tree.regions : [];
  const onlyRegion =
    regions.length === 1 ? (isObject(regions[0]) ? regions[0].name : regions[0]) : undefined;
  const method = text('auth_type') ?? (environment.OS_AUTH_TYPE || guessAuthType(auth));
  const authType = AUTH_TYPES.get(method);
  if (authType === undefined) {
    throw new CommandError(
      EXIT.usage,
      `${source} has an unsupported auth_type '${method}'. Use one of: ${[...AUTH_TYPES.keys()].join(', ')}.`,
    );
  }
  return {
    source,
    authType,
    auth,
    region:
      text('region_name') ??
      (environment.OS_REGION_NAME || (typeof onlyRegion === 'string' ? onlyRegion : undefined)),
    interface: (
      text('interface') ??
      text('endpoint_type') ??
      (environment.OS_INTERFACE || environment.OS_ENDPOINT_TYPE || 'public')
    ).replace(/URL$/, ''),
    endpoint:
      text('dns_endpoint_override') ??
      text('endpoint_override') ??
      (environment.OS_DNS_ENDPOINT_OVERRIDE || auth.endpoint),
    cacert: text('cacert') ?? (environment.OS_CACERT || undefined),
    verify: tree.verify !== false && !/^(?:1|true|yes)$/i.test(environment.OS_INSECURE ?? ''),
  };
}

function guessAuthType(auth: Readonly<Record<string, string>>): string {
  if (auth.application_credential_secret !== undefined) return 'v3applicationcredential';
  if (auth.endpoint !== undefined && auth.auth_url === undefined) return 'admin_token';
  return auth.password === undefined && auth.token !== undefined ? 'token' : 'password';
}

function foldersOf({ HOME, XDG_CONFIG_HOME }: NodeJS.ProcessEnv): string[] {
  const configuration = XDG_CONFIG_HOME || (HOME ? join(HOME, '.config') : undefined);
  const own = configuration === undefined ? [] : [join(configuration, 'openstack')];
  return ['.', ...own, '/etc/openstack'];
}

function fileNamed(
  name: string,
  explicit: string | undefined,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  if (explicit) return explicit;
  const candidates = foldersOf(environment).flatMap((folder) =>
    ['yaml', 'yml', 'json'].map((suffix) => join(folder, `${name}.${suffix}`)),
  );
  return candidates.find((path) => existsSync(path));
}

/** Returns the clouds in a file. Drops the YAML parser's message, which may quote a secret. */
function cloudsIn(path: string): Tree {
  const content = readTextFile(path);
  try {
    return treeAt(yaml().parse(content, { logLevel: 'error' }), 'clouds');
  } catch {
    throw new CommandError(EXIT.usage, `'${path}' is not valid YAML`);
  }
}

function treeAt(tree: unknown, member: string): Tree {
  const value = isObject(tree) ? tree[member] : undefined;
  return isObject(value) ? value : {};
}
