import { ServiceError } from '../domain/model/errors.ts';
import { deadlineAfter, within, type Deadline } from '../net/deadline.ts';
import { NetError } from '../net/faults.ts';
import { authOf } from '../net/keystone-credentials.ts';
import { keystoneError, type KeystoneApi, type KeystoneResponse } from '../net/keystone.ts';
import { readToken, readLifetimeSeconds, type ValidToken } from './keystone-token.ts';

/** Who the service is in Keystone: a user with a password, an application credential, or nobody. */
export interface KeystoneCredentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly userDomain: string;
  readonly project: string | undefined;
  readonly projectDomain: string;
  readonly applicationCredentialId: string | undefined;
  readonly applicationCredentialSecret: string | undefined;
}

/** Validates tokens. */
export interface KeystoneClient {
  /**
   * Returns what Keystone knows of a token; undefined when it is not valid. Throws `unavailable` when Keystone does not tell within
   * `timeoutSeconds`, which limit all requests and repetitions together.
   */
  validate(token: string): Promise<ValidToken | undefined>;
}

/** A token of the service's own. */
interface Session {
  readonly token: string;
  /** When to get another, well before it expires. */
  readonly renewAt: number;
}

/** The part of its token's life that the service makes use of. */
const USED_PART = 0.9;

/** How long the service waits after its credentials were refused: Keystone may lock a user out for trying too often. */
const REFUSED_LOGIN_PAUSE_SECONDS = 10;

const RETRY_AFTER_SECONDS = 5;

/** Returns the error for any failure of Keystone. `reason` goes to the log and contains no token. */
function keystoneUnavailable(reason: string): ServiceError {
  const message = 'The token cannot be checked now: the identity service does not answer as it should';
  return new ServiceError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: new Error(`Keystone: ${reason}`) });
}

/** Creates a client. `seconds` is a monotonic clock. */
export function createKeystoneClient(
  api: KeystoneApi,
  credentials: KeystoneCredentials,
  timeoutSeconds: number,
  seconds: () => number,
): KeystoneClient {
  const auth = serviceAuth(credentials);
  const describe = (token: string, authority: string, deadline: Deadline) => answered(api, api.describeToken(token, authority, deadline));
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

/** Keeps a token for the service itself, and gets it when first needed. Concurrent callers share one request. */
function createSession(api: KeystoneApi, auth: object, timeoutSeconds: number, seconds: () => number) {
  let current: Session | undefined;
  let login: Promise<Session> | undefined;
  let refused = { until: 0, reason: '' };

  const logIn = async (): Promise<Session> => {
    // Its callers' deadlines differ, so it has its own.
    const { status, subjectToken, body } = await answered(api, api.issueToken(auth, deadlineAfter(timeoutSeconds)));
    const lifetimeSeconds = readLifetimeSeconds(body);
    if (status !== 201 || subjectToken === undefined || lifetimeSeconds === undefined) {
      const reason = `answered ${status} to the service's own credentials`;
      refused = { until: seconds() + REFUSED_LOGIN_PAUSE_SECONDS, reason };
      throw keystoneUnavailable(reason);
    }
    current = { token: subjectToken, renewAt: seconds() + lifetimeSeconds * USED_PART };
    return current;
  };

  return {
    /** Throws `unavailable` when Keystone issues no token within the deadline. */
    async open(deadline: Deadline): Promise<Session> {
      if (current !== undefined && seconds() < current.renewAt) return current;
      if (seconds() < refused.until) throw keystoneUnavailable(refused.reason);
      login ??= logIn().finally(() => (login = undefined));
      return reached(api, within(deadline, login));
    },
    /** Drops a token that Keystone no longer takes. */
    forget(session: Session): void {
      if (current === session) current = undefined;
    },
  };
}

/** Waits for a response. Throws `unavailable` for none, and for one with 429, 500 or above. */
async function answered(api: KeystoneApi, request: Promise<KeystoneResponse>): Promise<KeystoneResponse> {
  const response = await reached(api, request);
  if (response.status >= 500 || response.status === 429) throw keystoneUnavailable(`answered ${response.status}`);
  return response;
}

/** Waits for work over the network. Throws `unavailable` for its `NetError`. */
async function reached<T>({ url }: KeystoneApi, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NetError) throw keystoneUnavailable(`${error.message} ('${url}')`);
    throw error;
  }
}

/** Returns the `auth` member of a request for the service's own token; undefined without credentials. */
function serviceAuth(credentials: KeystoneCredentials): object | undefined {
  const { username, password, applicationCredentialId: id, applicationCredentialSecret: secret } = credentials;
  if (id !== undefined) return authOf('application_credential', { application_credential_id: id, application_credential_secret: secret });
  if (username === undefined) return undefined;
  return authOf('password', {
    username,
    password,
    user_domain_name: credentials.userDomain,
    project_name: credentials.project,
    project_domain_name: credentials.projectDomain,
  });
}

/**
 * Tells whether Keystone itself refused with one of `statuses`. A proxy may answer with 404 while Keystone is unavailable; only
 * Keystone's own errors repeat the status in their body.
 */
function isRefusal(response: KeystoneResponse, statuses: readonly number[]): boolean {
  return statuses.includes(response.status) && keystoneError(response)?.code === response.status;
}

function readValid({ status, body }: KeystoneResponse): ValidToken {
  if (status !== 200) throw keystoneUnavailable(`answered ${status} to a question about a token`);
  const valid = readToken(body);
  if (valid === undefined) throw keystoneUnavailable('described a token in a form that is not known');
  return valid;
}
