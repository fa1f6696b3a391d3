import { anyText, array, nullable, type ValueOf } from '../../domain/model/field.ts';
import { optional, responseObject } from '../../domain/model/object.ts';
import {
  authOf,
  MissingCredentialError,
  type CredentialKind,
} from '../../net/keystone-credentials.ts';
import {
  createKeystoneApi,
  keystoneError,
  type KeystoneApi,
  type KeystoneResponse,
} from '../../net/keystone-api.ts';
import type { Trust } from '../../net/http.ts';
import type { Cloud } from './clouds.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import { withServer } from './send-request.ts';

const SERVICE_TYPE = 'dns';

const TEXT = optional(nullable(anyText()));

/** The service catalogue in the response to a request for a token (Keystone API v3). */
const CATALOGUE = array(
  responseObject({
    type: TEXT,
    endpoints: optional(
      array(
        responseObject({ interface: TEXT, region_id: TEXT, region: TEXT, url: TEXT }),
        0,
        Infinity,
      ),
    ),
  }),
  0,
  Infinity,
);
const RESPONSE = responseObject({ token: responseObject({ catalog: CATALOGUE }) });

/** A cloud with an identity service that issues tokens. */
export type IdentityCloud = Cloud & { readonly authType: CredentialKind };

/**
 * Gets a token from the cloud's identity service (Keystone, API v3). Returns the token with the URL
 * of the DNS service: `endpoint`, or else the URL in the service catalogue. Throws `CommandError`.
 */
export async function signIn(
  cloud: IdentityCloud,
  endpoint: string | undefined,
  trust: Trust,
): Promise<{ token: string; endpoint: string }> {
  const { auth_url: authUrl } = cloud.auth;
  if (authUrl === undefined || !/^https?:\/\/[^/]/.test(authUrl)) {
    throw new CommandError(
      EXIT.usage,
      `${cloud.source} has no valid auth_url`,
      'Set auth_url to an http or https URL.',
    );
  }
  const auth = authOfCloud(cloud);
  const api = createKeystoneApi(authUrl, trust);
  const server = {
    name: `The identity service '${api.url}'`,
    hint: `Check auth_url. ${cloud.source} sets it.`,
  };
  const response = await withServer(server, (deadline) => api.issueToken(auth, deadline)).finally(
    () => api.close(),
  );
  const { status, subjectToken: token, body } = response;
  if (status !== 201 || token === undefined) throw refusal(api, cloud, response);
  const parsed = RESPONSE.parse(body);
  const catalogue = 'value' in parsed ? parsed.value.token.catalog : [];
  return { token, endpoint: endpoint ?? findEndpoint(cloud, catalogue) };
}

function authOfCloud({ source, authType, auth }: IdentityCloud): object {
  try {
    return authOf(authType, auth);
  } catch (error) {
    if (!(error instanceof MissingCredentialError)) throw error;
    throw new CommandError(
      EXIT.usage,
      `${source} has no ${error.member}. Its auth_type requires ${error.member}.`,
    );
  }
}

function refusal({ url }: KeystoneApi, cloud: Cloud, response: KeystoneResponse): CommandError {
  const { message } = keystoneError(response) ?? {};
  const hint = `Check the credentials. ${cloud.source} sets them.`;
  return new CommandError(
    EXIT.unreachable,
    `The identity service '${url}' returned ${response.status}${typeof message === 'string' ? `: ${message}` : ''}`,
    hint,
  );
}

function findEndpoint(cloud: Cloud, catalogue: ValueOf<typeof CATALOGUE>): string {
  const endpoints = catalogue
    .filter(({ type }) => type === SERVICE_TYPE)
    .flatMap(({ endpoints = [] }) => endpoints);
  const candidates = endpoints.filter((each) => each.interface === cloud.interface);
  const regionOf = (each: (typeof endpoints)[number]) => each.region_id ?? each.region;
  const url = candidates.find(
    (each) => cloud.region === undefined || regionOf(each) === cloud.region,
  )?.url;
  if (typeof url === 'string') return url;
  const known =
    endpoints.map((each) => `${each.interface} in ${regionOf(each)}`).join(', ') || 'none';
  throw new CommandError(
    EXIT.unreachable,
    `The service catalogue has no '${cloud.interface}' endpoint of type '${SERVICE_TYPE}'${cloud.region === undefined ? '' : ` in region '${cloud.region}'`}. Available: ${known}`,
    'Set the URL of the service with --url, or set region_name and interface.',
  );
}
