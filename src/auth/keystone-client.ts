import { keystoneUnavailable, type Answer, type Exchange } from './keystone-exchange.ts';
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

/** Asks Keystone about tokens. */
export interface KeystoneClient {
  /** What is known of a token; undefined when it is not valid. Throws `unavailable` when Keystone does not tell. */
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

const TOKENS = '/v3/auth/tokens';

/** A client of Keystone's API, version 3. `seconds` is a clock that does not go back. */
export function createKeystoneClient(exchange: Exchange, credentials: KeystoneCredentials, seconds: () => number): KeystoneClient {
  const identity = identityOf(credentials);
  const question = (authority: string, token: string) =>
    // The catalogue of services is of no use here, and is most of the answer.
    exchange.ask({ method: 'GET', path: `${TOKENS}?nocatalog`, headers: { 'x-auth-token': authority, 'x-subject-token': token } });
  if (identity === undefined) {
    return {
      async validate(token) {
        const answer = await question(token, token);
        return isRefusal(answer, [400, 401, 404]) ? undefined : readValid(answer);
      },
    };
  }
  const session = createSession(exchange, identity, seconds);
  return {
    async validate(token) {
      const own = await session.open();
      let answer = await question(own.token, token);
      if (answer.status === 401) {
        session.forget(own);
        answer = await question((await session.open()).token, token);
      }
      return isRefusal(answer, [400, 404]) ? undefined : readValid(answer);
    },
  };
}

/** Keeps a token for the service itself: got when first needed, by one request however many wait for it. */
function createSession(exchange: Exchange, identity: object, seconds: () => number) {
  let current: Session | undefined;
  let login: Promise<Session> | undefined;
  let refused = { until: 0, reason: '' };

  const logIn = async (): Promise<Session> => {
    const { status, subjectToken, body } = await exchange.ask({ method: 'POST', path: TOKENS, headers: {}, body: { auth: identity } });
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
    /** Throws `unavailable` when Keystone gives no token. */
    async open(): Promise<Session> {
      if (current !== undefined && seconds() < current.renewAt) return current;
      if (seconds() < refused.until) throw keystoneUnavailable(refused.reason);
      login ??= logIn().finally(() => (login = undefined));
      return login;
    },
    /** Drops a token that Keystone no longer takes. */
    forget(session: Session): void {
      if (current === session) current = undefined;
    },
  };
}

/** The `auth` member of a request for a token; undefined where no credentials are configured. */
function identityOf(credentials: KeystoneCredentials): object | undefined {
  const { username, password, applicationCredentialId: id, applicationCredentialSecret: secret } = credentials;
  if (id !== undefined) return { identity: { methods: ['application_credential'], application_credential: { id, secret } } };
  if (username === undefined) return undefined;
  const user = { name: username, password, domain: { name: credentials.userDomain } };
  const project = { name: credentials.project, domain: { name: credentials.projectDomain } };
  return { identity: { methods: ['password'], password: { user } }, scope: { project } };
}

/**
 * Tells whether Keystone itself said no with one of `statuses`. Whatever stands before it may answer with 404 while Keystone is
 * away; only Keystone's own errors repeat the status in their body.
 */
function isRefusal({ status, body }: Answer, statuses: readonly number[]): boolean {
  return statuses.includes(status) && (body as { error?: { code?: unknown } } | undefined)?.error?.code === status;
}

function readValid({ status, body }: Answer): ValidToken {
  if (status !== 200) throw keystoneUnavailable(`answered ${status} to a question about a token`);
  const valid = readToken(body);
  if (valid === undefined) throw keystoneUnavailable('described a token in a form that is not known');
  return valid;
}
