import { ServiceError } from '../core/errors.ts';
import { deadlineAfter, within, type Deadline } from '../net/deadline.ts';
import { NetError } from '../net/faults.ts';
import { keystoneError, type KeystoneApi, type KeystoneResponse } from './keystone-api.ts';
import { readToken, readLifetimeSeconds, type ValidToken } from './keystone-token.ts';

/** The service's credentials for Keystone: a password, an application credential, or none. */
export interface KeystoneCredentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly userDomain: string;
  readonly project: string | undefined;
  readonly projectDomain: string;
  readonly applicationCredentialId: string | undefined;
  readonly applicationCredentialSecret: string | undefined;
}

export interface KeystoneClient {
  /**
   * Returns a token's caller and expiry time, or undefined for an invalid token. Throws
   * `unavailable` if Keystone does not respond within `timeoutSeconds`. This limit covers all
   * requests and retries together.
   */
  validate(token: string): Promise<ValidToken | undefined>;
}

/** A Keystone token of the service itself. */
interface Session {
  readonly token: string;
  /** When to request a new token, in seconds of the client's clock. */
  readonly renewAt: number;
}

/** The fraction of a token's lifetime after which the service requests a new token. */
const RENEWAL_FRACTION = 0.9;

/**
 * How long the service waits before it sends refused credentials again. Keystone may lock a user
 * out after too many failed attempts.
 */
const REFUSED_LOGIN_PAUSE_SECONDS = 10;

const RETRY_AFTER_SECONDS = 5;

const UNAVAILABLE =
  'Cannot validate the token: the identity service is unavailable or returned an unexpected response';

/** Returns the error for a failure of Keystone. `reason` must contain no token. */
function keystoneUnavailable(reason: string): ServiceError {
  return new ServiceError('unavailable', UNAVAILABLE, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause: new Error(`Keystone: ${reason}`),
  });
}

/** Creates a client that validates tokens through `api`. `seconds` is a monotonic clock. */
export function createKeystoneClient(
  api: KeystoneApi,
  credentials: KeystoneCredentials,
  timeoutSeconds: number,
  seconds: () => number,
): KeystoneClient {
  const auth = serviceAuth(credentials);
  const describe = (token: string, authority: string, deadline: Deadline) =>
    responseOf(api, api.describeToken(token, authority, deadline));
  if (auth === undefined) {
    return {
      async validate(token) {
        const response = await describe(token, token, deadlineAfter(timeoutSeconds));
        return isRefusal(response, [400, 401, 404]) ? undefined : readValid(response);
      },
    };
  }
  const session = createSession(api, auth, timeoutSeconds, seconds);
  return {
    async validate(token) {
      const deadline = deadlineAfter(timeoutSeconds);
      const own = await session.open(deadline);
      let response = await describe(token, own.token, deadline);
      if (response.status === 401) {
        session.forget(own);
        response = await describe(token, (await session.open(deadline)).token, deadline);
      }
      return isRefusal(response, [400, 404]) ? undefined : readValid(response);
    },
  };
}

/** Requests and caches the service's own token. Concurrent callers share one request. */
function createSession(
  api: KeystoneApi,
  auth: object,
  timeoutSeconds: number,
  seconds: () => number,
) {
  let current: Session | undefined;
  let login: Promise<Session> | undefined;
  let refused = { until: 0, reason: '' };

  const logIn = async (): Promise<Session> => {
    // Several callers with different deadlines share this request, so it has a separate deadline.
    const { status, subjectToken, body } = await responseOf(
      api,
      api.issueToken(auth, deadlineAfter(timeoutSeconds)),
    );
    const lifetimeSeconds = readLifetimeSeconds(body);
    if (status !== 201 || subjectToken === undefined || lifetimeSeconds === undefined) {
      const reason = `returned ${status} for the service's own credentials`;
      refused = { until: seconds() + REFUSED_LOGIN_PAUSE_SECONDS, reason };
      throw keystoneUnavailable(reason);
    }
    current = { token: subjectToken, renewAt: seconds() + lifetimeSeconds * RENEWAL_FRACTION };
    return current;
  };

  return {
    /** Throws `unavailable` if Keystone issues no token within the deadline. */
    async open(deadline: Deadline): Promise<Session> {
      if (current !== undefined && seconds() < current.renewAt) return current;
      if (seconds() < refused.until) throw keystoneUnavailable(refused.reason);
      login ??= logIn().finally(() => (login = undefined));
      return translateNetError(api, within(deadline, login));
    },
    /** Drops a token that Keystone no longer accepts. */
    forget(session: Session): void {
      if (current === session) current = undefined;
    },
  };
}

/** Returns the response. Throws `unavailable` if none arrives, or if the status is 429 or 5xx. */
async function responseOf(
  api: KeystoneApi,
  request: Promise<KeystoneResponse>,
): Promise<KeystoneResponse> {
  const response = await translateNetError(api, request);
  if (response.status >= 500 || response.status === 429)
    throw keystoneUnavailable(`returned ${response.status}`);
  return response;
}

/** Waits for `work`. Throws `unavailable` if `work` throws a `NetError`. */
async function translateNetError<T>({ url }: KeystoneApi, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NetError) throw keystoneUnavailable(`${error.message} ('${url}')`);
    throw error;
  }
}

/** Returns the `auth` member of the request, or undefined without credentials. */
function serviceAuth(credentials: KeystoneCredentials): object | undefined {
  const {
    username,
    password,
    applicationCredentialId: id,
    applicationCredentialSecret: secret,
  } = credentials;
  // Keystone rejects a scope for an application credential, which has a fixed project.
  if (id !== undefined)
    return {
      identity: {
        methods: ['application_credential'],
        application_credential: { id, secret },
      },
    };
  if (username === undefined) return undefined;
  const user = { name: username, domain: { name: credentials.userDomain }, password };
  const project = { name: credentials.project, domain: { name: credentials.projectDomain } };
  return { identity: { methods: ['password'], password: { user } }, scope: { project } };
}

/**
 * Returns whether Keystone itself refused the request with one of `statuses`. A proxy may return
 * 404 while Keystone is unavailable. Only Keystone's errors repeat the status in the body.
 */
function isRefusal(response: KeystoneResponse, statuses: readonly number[]): boolean {
  return statuses.includes(response.status) && keystoneError(response)?.code === response.status;
}

function readValid({ status, body }: KeystoneResponse): ValidToken {
  if (status !== 200)
    throw keystoneUnavailable(`returned ${status} for a token validation request`);
  const valid = readToken(body);
  if (valid === undefined) throw keystoneUnavailable('returned a token in an unknown format');
  return valid;
}
