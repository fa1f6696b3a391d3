import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import type { ActionDependencies } from '../../resources/operations/action.ts';
import type { ChangeContext } from '../../resources/operations/change.ts';
import { ServiceError, type ErrorCode } from '../../core/errors.ts';
import { mayForce, requireRight } from '../../resources/policy.ts';
import type { Authenticate, KnownCaller } from '../../core/ports.ts';
import { addressGroup, clientAddress, isStatedAddress } from '../connection/client-address.ts';
import { sessionOf } from './cookie.ts';
import { allowOrigin } from './cors.ts';
import { applyContext, FORCE, isSet, REQUEST_ID_HEADER } from './context.ts';
import { lackingAt } from './designate-paths.ts';
import type { AddressLimit } from './rate-limit.ts';
import { baseUrl, type UrlSettings } from './urls.ts';

interface GuardSettings {
  readonly authenticate: Authenticate;
  readonly known: KnownCaller;
  readonly noteUse: (caller: Caller) => void;
  readonly urls: UrlSettings;
}

/** These may change while the service runs. A request keeps those with which it began. */
export interface RequestSettings {
  readonly dependencies: ActionDependencies;
  readonly allowedOrigins: readonly string[];
  /** Counts one request against a caller's rate limit. Throws `too_many_requests`. */
  readonly limitRate: (caller: string) => void;
  readonly addressLimit: AddressLimit;
  /** Throws `address_denied` or `unauthenticated` if the request may not read the metrics. */
  readonly checkMetrics: (request: FastifyRequest) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The settings of this request. Undefined until the server's first hook runs. */
    settings: RequestSettings;
    /** The caller. Undefined outside the API and before the token is checked. */
    caller: Caller | undefined;
    /** The base URL of the service as this caller uses it, without a trailing slash. */
    base: string;
    /** The client's address. Stored because a closed connection has no address. */
    address: string | undefined;
  }
}

/** False if the guard has sent the response. A promise if the token must be checked first. */
export type Passed = boolean | Promise<boolean>;

/**
 * Creates the function that checks every request before its route. The cheapest checks run first.
 * The order is: cross-origin rules, address limit, size, token, rate limit, request context, route,
 * right. In this order, a caller who lacks a right cannot find out whether a resource exists. The
 * service reads bodies after these checks. A request whose token is cached passes without a
 * promise. The function throws the error of a rejected request.
 */
export function createGuard(
  app: FastifyInstance,
  settings: GuardSettings,
): (request: FastifyRequest, reply: FastifyReply) => Passed {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('base', '');
  app.decorateRequest('address', undefined);
  app.decorateRequest('queryString', undefined);
  return (request, reply) => {
    const { url = request.url, config } = request.route;
    request.address = clientAddress(request, settings.urls.trustProxyHeaders);
    reply.header(REQUEST_ID_HEADER, request.id);
    reply.header('cache-control', 'no-store');
    allowOrigin(request, reply, request.settings.allowedOrigins);
    const isOptions = request.method === 'OPTIONS';
    const needsToken = isApi(url) || config.needsCaller === true;
    const token = needsToken ? tokenOf(request, settings.urls) : undefined;
    const known =
      token === undefined ? undefined : fromItsAddress(request, settings.known(token), settings);
    if (token !== undefined && known === undefined && !isOptions) {
      return checkToken(request, reply, settings, token).then((caller) =>
        admit(request, reply, settings, caller),
      );
    }
    if (known === undefined && config.unlimited !== true)
      request.settings.addressLimit.take(addressOf(request));
    checkHead(request, reply, settings);
    if (isOptions) return respondToOptions(request, reply);
    if (needsToken && known === undefined) throw unauthenticated();
    return admit(request, reply, settings, known);
  };
}

/**
 * Returns the owner under which `FairTurns` queues a request: the caller of a cached token, or the
 * address. The request may not have passed the guard yet. The probes from an address have a
 * separate owner.
 */
export function requestOwner(
  request: FastifyRequest,
  { known, urls }: Pick<GuardSettings, 'known' | 'urls'>,
): string {
  const token = tokenOf(request, urls);
  request.address ??= clientAddress(request, urls.trustProxyHeaders);
  const caller =
    request.caller ??
    (token === undefined ? undefined : fromItsAddress(request, known(token), { urls }));
  if (caller !== undefined) return caller.id;
  const address = addressGroup(request.address ?? '');
  return request.route.config.unlimited === true ? `probe ${address}` : address;
}

/**
 * The header with which the console marks a request that no person has caused. Such a request does
 * not prolong a session.
 */
const BACKGROUND = 'x-tsigil-background';

export function signedIn(request: FastifyRequest): Caller {
  if (request.caller === undefined) throw unauthenticated();
  return request.caller;
}

export function changeContext(request: FastifyRequest, force = false): ChangeContext {
  const { requestId, globalRequestId: globalId, source } = originOf(request);
  return { caller: signedIn(request), requestId, globalRequestId: globalId, source, force };
}

export function originOf(request: FastifyRequest) {
  return {
    requestId: request.id,
    globalRequestId: globalRequestId(request),
    source: request.address,
  };
}

/** Returns whether a caller may, and wants to, take keys from a name server that needs them. */
export function isForced(request: FastifyRequest): boolean {
  return isSet(request, FORCE) && mayForce(request.settings.dependencies.policy, signedIn(request));
}

const DENIALS: ReadonlySet<ErrorCode> = new Set([
  'access_denied',
  'forbidden',
  'outside_limits',
  'sign_in_again',
]);

/** Counts a refused request in the audit trail, if its token is valid. */
export function recordRefusal(request: FastifyRequest, { code }: ServiceError): void {
  const { caller, method, address, settings, route } = request;
  if (caller === undefined) return;
  settings.dependencies.recording.refused({
    caller,
    source: address,
    action: route.config.right ?? `${method} ${route.url ?? '(unknown)'}`,
    outcome: DENIALS.has(code) ? 'denied' : 'failed',
    code,
  });
}

const REQUEST_ID = /^req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the request id that the caller sent, or undefined if it is absent or invalid. */
export function globalRequestId({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-openstack-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
}

function isApi(url: string): boolean {
  return url.startsWith('/v2/');
}

function addressOf({ address = 'unknown' }: FastifyRequest): string {
  return address;
}

/** Stores the base URL. Throws `request_too_large`, and `bad_request` for the Host header. */
function checkHead(request: FastifyRequest, reply: FastifyReply, settings: GuardSettings): void {
  const { bodyLimit } = request.route;
  if (Number(request.headers['content-length'] ?? 0) > bodyLimit) {
    reply.header('connection', 'close');
    throw new ServiceError('request_too_large', bodyLimit);
  }
  request.base = baseUrl(request, settings.urls);
}

function respondToOptions(request: FastifyRequest, reply: FastifyReply): false {
  const { allow } = request.route.config;
  if (allow !== undefined) reply.header('allow', allow);
  void reply.code(200).header('content-length', '0').send();
  return false;
}

/**
 * Returns the caller of a token that is not cached. Throws `unauthenticated` and the errors of
 * `checkHead` and `authenticate`.
 */
async function checkToken(
  request: FastifyRequest,
  reply: FastifyReply,
  settings: GuardSettings,
  token: string,
): Promise<Caller> {
  const endCheck = request.settings.addressLimit.beginCheck(addressOf(request), token);
  let valid: boolean | 'elsewhere' | undefined;
  try {
    checkHead(request, reply, settings);
    const found = await settings.authenticate(token);
    const caller = fromItsAddress(request, found, settings);
    valid = found !== undefined && (caller !== undefined || 'elsewhere');
    if (caller === undefined) throw unauthenticated();
    return caller;
  } finally {
    endCheck(valid);
  }
}

/**
 * Returns `caller` if its token is valid from the address of the request, else undefined. The guard
 * treats a request from another address like a request with an unknown token. A thief therefore
 * cannot detect that a stolen token is valid elsewhere.
 */
export function fromItsAddress(
  request: FastifyRequest,
  caller: Caller | undefined,
  { urls: { trustProxyHeaders } }: Pick<GuardSettings, 'urls'>,
): Caller | undefined {
  if (caller?.addresses === undefined) return caller;
  const isValid =
    isStatedAddress(request, trustProxyHeaders) && caller.addresses.includes(request.address);
  return isValid ? caller : undefined;
}

/**
 * Throws `too_many_requests`, and the errors for an unknown path, an unknown method and a missing
 * right. `caller` is undefined outside the API.
 */
function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { noteUse }: GuardSettings,
  caller: Caller | undefined,
): true {
  const { limitRate, dependencies } = request.settings;
  if (caller !== undefined) {
    limitRate(caller.id);
    if (caller.session === undefined || !isSet(request, BACKGROUND)) noteUse(caller);
    request.caller = caller; // so that the audit trail records a refusal by applyContext
    request.caller = applyContext(request, caller, dependencies.policy);
  }
  const { url, config } = request.route;
  const { allow, refused, right } = config;
  if (url === undefined) throw new ServiceError('not_found', lackingAt(request.url));
  if (refused === true) {
    reply.header('allow', allow ?? '');
    throw new ServiceError('method_not_allowed', { method: request.method, allow: allow ?? '' });
  }
  if (right !== undefined) requireRight(dependencies.policy, signedIn(request), right);
  return true;
}

/**
 * Where a request can carry its credential, in order of precedence. Each entry returns the
 * credential, which a method of `src/sign-in-methods.ts` claims, or undefined: the `T` of `X-Auth-Token: T` and of
 * `Authorization: Bearer T` (RFC 6750 section 2.1), and the cookie of a session. So a request with a
 * token is never one of a session.
 */
const CREDENTIALS: readonly ((
  request: FastifyRequest,
  urls: UrlSettings | undefined,
) => string | undefined)[] = [
  ({ headers: { 'x-auth-token': token } }) =>
    typeof token === 'string' && token !== '' ? token : undefined,
  ({ headers }) => /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1],
  (request, urls) => (urls === undefined ? undefined : sessionOf(request, urls)),
];

/** Returns undefined for an anonymous request. Without `urls`, ignores cookies. */
export function tokenOf(request: FastifyRequest, urls?: UrlSettings): string | undefined {
  for (const credentialOf of CREDENTIALS) {
    const credential = credentialOf(request, urls);
    if (credential !== undefined) return credential;
  }
  return undefined;
}

function unauthenticated(): ServiceError {
  return new ServiceError('unauthenticated');
}
