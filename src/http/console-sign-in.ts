import type { FastifyRequest } from 'fastify';
import { readActionBody } from '../domain/actions/action.ts';
import {
  CHOICE_SECONDS,
  createCode,
  credentialOf,
  openSession,
  redeemCode,
  type Credential,
  type OpenedSession,
} from '../domain/operations/sessions.ts';
import type { Caller } from '../domain/model/caller.ts';
import { ServiceError } from '../domain/model/errors.ts';
import { anyText, enumeration, type ValueOf } from '../domain/model/field.ts';
import { object, optional } from '../domain/model/object.ts';
import type { Authenticate, IssuesTokens } from '../domain/model/ports.ts';
import { CODE_CREDENTIAL } from '../domain/resources/session.ts';
import { hashToken } from '../domain/resources/token-hash.ts';
import { millisecondsOf } from '../domain/text/timestamps.ts';
import { addressGroup } from './connection/client-address.ts';
import { cookieFor, isSameOrigin, sessionValue } from './request/cookie.ts';
import { fromItsAddress, originOf } from './request/guard.ts';
import { readJsonBody } from './request/json-body.ts';
import { createBuckets } from './request/rate-limit.ts';
import type { UrlSettings } from './request/urls.ts';
import type { Log } from './request-log.ts';

export interface ConsoleSessions {
  readonly authenticate: Authenticate;
  readonly urls: UrlSettings;
  readonly version: string;
  readonly idleSeconds: number;
  readonly lifetimeSeconds: number;
  /** Signs persons in. Undefined if Keystone is not configured. */
  readonly keystone: IssuesTokens | undefined;
  readonly log: Log;
  /** A monotonic clock. */
  readonly seconds: () => number;
}

const SIGN_IN = object({
  method: enumeration(['token', 'keystone', 'code']),
  token: optional(anyText()),
  user: optional(anyText()),
  user_domain: optional(anyText()),
  password: optional(anyText()),
  passcode: optional(anyText()),
  /** The id of a project in Keystone. */
  project: optional(anyText()),
  code: optional(anyText()),
});

/** A token as a header carries it. So no text in a body passes for the cookie of a session. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

const SIGN_INS_PER_MINUTE = 10;
const FAILURES_PER_MINUTE = 5;

/** Who the audit trail names for a sign-in that failed. */
const UNKNOWN: Caller = {
  id: 'unknown',
  name: 'unknown',
  roles: [],
  projectId: null,
  allProjects: false,
};

/** Who signs in, and what the session will stand for. */
interface Proof {
  readonly caller: Caller;
  readonly credential: Credential;
}

/** What a person with a role in several projects chooses from. */
interface Choice {
  readonly projects: readonly { readonly id: string; readonly name: string; domain_id: string }[];
  /** Stands for the password in the next request. */
  readonly code: string;
  readonly expires_at: string;
}

type SignedIn = OpenedSession | { readonly choice: Choice };

/** Returns a function that opens a session. */
export function createSignIn(
  sessions: ConsoleSessions,
): (request: FastifyRequest) => Promise<SignedIn> {
  const { seconds } = sessions;
  const perMinute = (count: number) =>
    createBuckets({ requestsPerSecond: count / 60, burst: count }, seconds);
  const attempts = perMinute(SIGN_INS_PER_MINUTE);
  const failures = perMinute(FAILURES_PER_MINUTE);
  const prove = createProofs(sessions);
  const open = createOpening(sessions);

  return async (request) => {
    const { dependencies } = request.settings;
    let account: string | undefined;
    try {
      if (!isSameOrigin(request) || cookieFor(request.base) === undefined)
        throw new ServiceError('sign_in_failed');
      // Pages of others, which never get here, must not use up the attempts of a person.
      limit(attempts.take(addressGroup(request.address ?? 'unknown')));
      const body = readActionBody({ kind: SIGN_IN, what: 'sign-in' }, readJsonBody(request));
      const taken = accountOf(body);
      limit(failures.take(taken));
      account = taken;
      const opened = await open(request, await prove(request, body));
      failures.putBack(taken);
      return opened;
    } catch (error) {
      const hasFailed = error instanceof ServiceError && error.code === 'sign_in_failed';
      if (hasFailed)
        dependencies.recording.refused({
          caller: UNKNOWN,
          source: request.address,
          action: 'sessions:create',
          outcome: 'denied',
          code: error.code,
        });
      else if (account !== undefined) failures.putBack(account);
      throw error;
    }
  };
}

/** Returns a function that opens a session for whom a proof is. */
function createOpening({ urls, lifetimeSeconds }: ConsoleSessions) {
  return async (request: FastifyRequest, proof: Proof | Choice): Promise<SignedIn> => {
    if ('projects' in proof) return { choice: proof };
    const { dependencies } = request.settings;
    const { caller, credential } = proof;
    return openSession(
      dependencies,
      { ...originOf(request), caller },
      {
        credential,
        agent: request.headers['user-agent'],
        lifetimeSeconds: Math.min(lifetimeSeconds, secondsLeft(proof, dependencies.clock())),
        replaces: sessionValue(request, urls),
      },
    );
  };
}

/**
 * Returns what the limit of failures counts: a token, a user and the domain, or a code. Members that
 * the method does not read must not make another account.
 */
function accountOf({ method, token, code, user, user_domain: domain = '' }: SignInBody): string {
  const named = user === undefined ? code : `${user}\n${domain}`.toLowerCase();
  const account = { token, keystone: named, code }[method];
  return hashToken(`${method}\n${account ?? ''}`);
}

/** Returns how long the Keystone token of a session is valid. Other tokens may be prolonged. */
function secondsLeft({ caller: { expiresAt }, credential }: Proof, now: string): number {
  if (credential.kind !== 'keystone' || expiresAt == null) return Infinity;
  return Math.max(0, Math.floor((millisecondsOf(expiresAt) - millisecondsOf(now)) / 1000));
}

/**
 * Returns a function that checks what a person has sent. It returns a choice for a person with
 * several projects.
 */
function createProofs({ authenticate, urls, keystone }: ConsoleSessions) {
  const callerOf = async (request: FastifyRequest, credential: string) => {
    const caller = fromItsAddress(request, await authenticate(credential), { urls });
    if (caller === undefined) throw new ServiceError('sign_in_failed');
    return caller;
  };
  const redeem = async (request: FastifyRequest, code = ''): Promise<Proof> => {
    const caller = await callerOf(request, CODE_CREDENTIAL + code);
    const context = { ...originOf(request), caller };
    const credential = await redeemCode(request.settings.dependencies, context, code);
    if (credential === undefined) throw new ServiceError('sign_in_failed');
    return { caller, credential };
  };
  const withToken = async (request: FastifyRequest, token = ''): Promise<Proof> => {
    if (!TOKEN.test(token)) throw new ServiceError('sign_in_failed');
    const caller = await callerOf(request, token);
    return { caller, credential: credentialOf(caller, token) };
  };
  /** Returns a token without a project: that of the code, or one for the password. */
  const identityOf = async (request: FastifyRequest, body: SignInBody, issuer: IssuesTokens) => {
    const { user, user_domain: userDomain, password, passcode, code } = body;
    if (code !== undefined) return (await redeem(request, code)).credential.token;
    if (user === undefined || password === undefined) return undefined;
    const issued = await issuer.issue({ user, userDomain, password, passcode });
    if (typeof issued === 'object') throw new ServiceError('passcode_required');
    return issued;
  };
  const withKeystone = async (
    request: FastifyRequest,
    body: SignInBody,
  ): Promise<Proof | Choice> => {
    const identity = keystone && (await identityOf(request, body, keystone));
    if (keystone === undefined || identity === undefined) throw new ServiceError('sign_in_failed');
    const projects = await keystone.projects(identity);
    const [only] = projects;
    if (body.project === undefined && projects.length > 1) {
      const { caller, credential } = await withToken(request, identity);
      const context = { ...originOf(request), caller };
      const { dependencies } = request.settings;
      const created = await createCode(dependencies, context, credential, CHOICE_SECONDS);
      return {
        projects: projects.map(({ id, name, domainId }) => ({ id, name, domain_id: domainId })),
        code: created.code,
        expires_at: created.expiresAt,
      };
    }
    const chosen = body.project ?? only?.id;
    const token = chosen === undefined ? undefined : await keystone.scope(identity, chosen);
    const { caller, credential } = await withToken(request, token);
    return { caller, credential: { ...credential, isIssued: true } };
  };
  return (request: FastifyRequest, body: SignInBody): Promise<Proof | Choice> => {
    if (body.method === 'keystone') return withKeystone(request, body);
    return body.method === 'code' ? redeem(request, body.code) : withToken(request, body.token);
  };
}

type SignInBody = ValueOf<typeof SIGN_IN>;

function limit(wait: number): void {
  if (wait > 0)
    throw new ServiceError('too_many_requests', 'Too many sign-ins. Wait before the next', {
      retryAfterSeconds: Math.ceil(wait),
    });
}
