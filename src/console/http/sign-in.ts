import { readActionBody } from '../../resources/operations/action.ts';
import {
  credentialOf,
  openSession,
  redeemCode,
  type Credential,
} from '../../tokens/session-operations.ts';
import type { Caller } from '../../core/caller.ts';
import { ServiceError } from '../../core/errors.ts';
import { anyText, enumeration } from '../../core/field.ts';
import { object, optional } from '../../core/object.ts';
import type { Authenticate } from '../../core/ports.ts';
import type { AuthMethod } from '../../core/settings.ts';
import { CODE_CREDENTIAL } from '../../resources/session.ts';
import { millisecondsOf } from '../../core/text/timestamps.ts';
import { addressGroup } from '../../http/connection/client-address.ts';
import { cookieFor, isSameOrigin, sessionValue } from '../../http/request/cookie.ts';
import { fromItsAddress, originOf } from '../../http/request/guard.ts';
import { readJsonBody } from '../../http/request/json-body.ts';
import { createBuckets } from '../../http/request/rate-limit.ts';
import type { FastifyRequest } from '../../http/request/routes.ts';
import type { UrlSettings } from '../../http/request/urls.ts';

export interface ConsoleSessions {
  readonly authenticate: Authenticate;
  readonly urls: UrlSettings;
  readonly version: string;
  readonly idleSeconds: number;
  readonly lifetimeSeconds: number;
  /** Whose tokens open a session. */
  readonly methods: readonly AuthMethod[];
  /** A monotonic clock. */
  readonly seconds: () => number;
}

const SIGN_IN = object({
  method: enumeration(['token', 'code']),
  token: optional(anyText()),
  code: optional(anyText()),
});

/** A token as a header carries it. So no text in a body passes for the cookie of a session. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

const SIGN_INS_PER_MINUTE = 10;

/** Who the audit trail names for a sign-in that failed. */
const UNKNOWN: Caller = {
  id: 'unknown',
  name: 'unknown',
  roles: [],
  projectId: null,
  allProjects: false,
};

interface Proof {
  readonly caller: Caller;
  readonly credential: Credential;
}

/** Returns a function that opens a session, and returns the value of its cookie. */
export function createSignIn(
  sessions: ConsoleSessions,
): (request: FastifyRequest) => Promise<string> {
  const perSecond = { requestsPerSecond: SIGN_INS_PER_MINUTE / 60, burst: SIGN_INS_PER_MINUTE };
  const attempts = createBuckets(perSecond, sessions.seconds);
  return async (request) => {
    try {
      if (!isSameOrigin(request) || cookieFor(request.base) === undefined)
        throw new ServiceError('sign_in_failed');
      // Pages of others, which never get here, must not use up the attempts of a person.
      const wait = attempts.take(addressGroup(request.address ?? 'unknown'));
      if (wait > 0)
        throw new ServiceError('too_many_requests', 'Too many sign-ins. Wait before the next', {
          retryAfterSeconds: Math.ceil(wait),
        });
      return await open(request, await prove(request, sessions), sessions);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'sign_in_failed')
        request.settings.dependencies.recording.refused({
          caller: UNKNOWN,
          source: request.address,
          action: 'sessions:create',
          outcome: 'denied',
          code: error.code,
        });
      throw error;
    }
  };
}

async function prove(
  request: FastifyRequest,
  { authenticate, urls }: ConsoleSessions,
): Promise<Proof> {
  const read = readActionBody({ kind: SIGN_IN, what: 'sign-in' }, readJsonBody(request));
  const { method, token = '', code = '' } = read;
  if (method === 'token' && !TOKEN.test(token)) throw new ServiceError('sign_in_failed');
  const given = method === 'token' ? token : CODE_CREDENTIAL + code;
  const caller = fromItsAddress(request, await authenticate(given), { urls });
  if (caller === undefined) throw new ServiceError('sign_in_failed');
  if (method === 'token') return { caller, credential: credentialOf(caller, token) };
  const context = { ...originOf(request), caller };
  const credential = await redeemCode(request.settings.dependencies, context, code);
  if (credential === undefined) throw new ServiceError('sign_in_failed');
  return { caller, credential };
}

function open(
  request: FastifyRequest,
  proof: Proof,
  { urls, lifetimeSeconds }: ConsoleSessions,
): Promise<string> {
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
}

/** Returns how long the Keystone token of a session is valid. Other tokens may be prolonged. */
function secondsLeft({ caller: { expiresAt }, credential }: Proof, now: string): number {
  if (credential.kind !== 'keystone' || expiresAt == null) return Infinity;
  return Math.max(0, Math.floor((millisecondsOf(expiresAt) - millisecondsOf(now)) / 1000));
}
