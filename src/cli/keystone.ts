import type { Cloud } from './clouds.ts';
import { CommandError, EXIT } from './errors.ts';
import { exchange, type HttpAnswer, type Trust } from './exchange.ts';

/** The service type under which catalogues list the service. */
const SERVICE_TYPE = 'dns';

interface Catalogue {
  readonly type?: string;
  readonly endpoints?: readonly { readonly interface?: string; readonly region_id?: string; readonly region?: string; readonly url?: string }[];
}

type Auth = Readonly<Record<string, string>>;

/**
 * A token from the cloud's identity service (Keystone, API v3) and where its catalogue says the DNS service is; `endpoint`
 * makes the catalogue not asked. Throws `CommandError`.
 */
export async function signIn(cloud: Cloud, endpoint: string | undefined, trust: Trust): Promise<{ token: string; endpoint: string }> {
  const { auth_url: authUrl } = cloud.auth;
  if (authUrl === undefined || !/^https?:\/\/[^/]/.test(authUrl)) {
    throw new CommandError(EXIT.usage, `${cloud.source} has no auth_url that is an http or https URL`);
  }
  const base = `${authUrl.replace(/\/+$/, '').replace(/\/v3$/, '')}/v3`;
  const question = {
    method: 'POST',
    url: `${base}/auth/tokens`,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(identityOf(cloud)),
    trust,
  };
  const answer = await exchange(question, `The identity service ${base}`, `Is that where it is? ${cloud.source} says so.`);
  const token = answer.header('x-subject-token');
  if (answer.status !== 201 || token === undefined) throw refusal(base, cloud, answer);
  return { token, endpoint: endpoint ?? findEndpoint(cloud, catalogueIn(answer.text)) };
}

function refusal(base: string, cloud: Cloud, { status, text }: HttpAnswer): CommandError {
  const { message } = (parse(text) as { error?: { message?: string } } | undefined)?.error ?? {};
  const hint = `Check the credentials: ${cloud.source} was used.`;
  return new CommandError(EXIT.unreachable, `The identity service ${base} answered ${status}${message === undefined ? '' : `: ${message}`}`, hint);
}

/** The request for a token, as Keystone's API v3 describes it. */
function identityOf(cloud: Cloud): object {
  const { auth } = cloud;
  switch (cloud.authType) {
    case 'application_credential': {
      const secret = required(cloud, 'application_credential_secret');
      const { application_credential_id: id } = auth;
      const named = () => ({ name: required(cloud, 'application_credential_name'), user: userOf(cloud) });
      // An application credential is for one project; asking for another is an error.
      return {
        auth: { identity: { methods: ['application_credential'], application_credential: { ...(id === undefined ? named() : { id }), secret } } },
      };
    }
    case 'token':
      return { auth: { identity: { methods: ['token'], token: { id: required(cloud, 'token') } }, ...scopeOf(auth) } };
    default: {
      const user = { ...userOf(cloud), password: required(cloud, 'password') };
      return { auth: { identity: { methods: ['password'], password: { user } }, ...scopeOf(auth) } };
    }
  }
}

function userOf(cloud: Cloud): object {
  const { auth } = cloud;
  if (auth.user_id !== undefined) return { id: auth.user_id };
  return { name: required(cloud, 'username'), domain: domainOf(auth, 'user_domain') };
}

function scopeOf(auth: Auth): object {
  if (auth.project_id !== undefined) return { scope: { project: { id: auth.project_id } } };
  if (auth.project_name !== undefined) return { scope: { project: { name: auth.project_name, domain: domainOf(auth, 'project_domain') } } };
  if (auth.system_scope !== undefined) return { scope: { system: { all: true } } };
  if (auth.domain_id !== undefined) return { scope: { domain: { id: auth.domain_id } } };
  return auth.domain_name === undefined ? {} : { scope: { domain: { name: auth.domain_name } } };
}

/** The domain that `prefix` names, or the default one, whose id is `default` where nothing else was said. */
function domainOf(auth: Auth, prefix: 'user_domain' | 'project_domain'): object {
  const id = auth[`${prefix}_id`];
  const name = auth[`${prefix}_name`];
  if (id !== undefined) return { id };
  if (name !== undefined) return { name };
  return auth.default_domain_name === undefined ? { id: auth.default_domain_id ?? 'default' } : { name: auth.default_domain_name };
}

function required({ source, auth }: Cloud, member: string): string {
  const value = auth[member];
  if (value !== undefined) return value;
  throw new CommandError(EXIT.usage, `${source} has no ${member}, which its auth_type needs`);
}

function catalogueIn(text: string): readonly Catalogue[] {
  return (parse(text) as { token?: { catalog?: readonly Catalogue[] } } | undefined)?.token?.catalog ?? [];
}

/** Undefined for what is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

function findEndpoint(cloud: Cloud, catalogue: readonly Catalogue[]): string {
  const endpoints = catalogue.filter(({ type }) => type === SERVICE_TYPE).flatMap(({ endpoints = [] }) => endpoints);
  const fitting = endpoints.filter((each) => each.interface === cloud.interface);
  const regionOf = (each: (typeof endpoints)[number]) => each.region_id ?? each.region;
  const url = fitting.find((each) => cloud.region === undefined || regionOf(each) === cloud.region)?.url;
  if (url !== undefined) return url;
  const known = endpoints.map((each) => `${each.interface} in ${regionOf(each)}`).join(', ') || 'none';
  throw new CommandError(
    EXIT.unreachable,
    `The cloud's catalogue has no ${cloud.interface} endpoint of type ${SERVICE_TYPE}${cloud.region === undefined ? '' : ` in the region ${cloud.region}`}; it has ${known}`,
    'Name the service with --url, or set region_name and interface.',
  );
}
