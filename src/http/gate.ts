import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../domain/caller.ts';
import { ServiceError } from '../domain/errors.ts';
import { requireRight, type Policy } from '../domain/policy.ts';
import type { Authenticate } from '../domain/ports.ts';
import { allowOrigin } from './cors.ts';
import { applyModifiers } from './modifiers.ts';
import { baseUrl, readParameters, type UrlSettings } from './urls.ts';
import type { Parameter } from '../domain/list-query.ts';

/** What the gate needs to know. */
export interface GateSettings {
  readonly authenticate: Authenticate;
  readonly policy: Policy;
  readonly urls: UrlSettings;
  readonly allowedOrigins: readonly string[];
  /** The name of the header that carries the request id. */
  readonly requestIdHeader: string;
  /** Takes one request from a caller's allowance; throws `too_many_requests`. */
  readonly limitRate: (caller: string) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; undefined outside the API and before the token is checked. */
    caller: Caller | undefined;
    /** The URL of the service as the caller knows it, without a final slash. */
    base: string;
    /** Where the request came from, for as long as it is remembered: a connection that is closed does not know any more. */
    address: string | undefined;
  }
}

/**
 * What every request passes before its route, from the cheapest check to the dearest and so that a caller without rights
 * learns nothing: cross-origin rules, size, token, rate, modifiers, route and method, right. Bodies are read after that.
 */
export function addGate(app: FastifyInstance, settings: GateSettings): void {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('base', '');
  app.decorateRequest('address', undefined);
  app.addHook('onRequest', async (request, reply) => {
    request.address = request.ip;
    reply.header(settings.requestIdHeader, request.id);
    reply.header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
    allowOrigin(request, reply, settings.allowedOrigins, settings.requestIdHeader);
    const { bodyLimit } = request.routeOptions;
    if (Number(request.headers['content-length'] ?? 0) > bodyLimit) {
      reply.header('connection', 'close');
      throw new ServiceError('request_too_large', `The request body is larger than ${bodyLimit} bytes`);
    }
    const { allow, refused, right } = request.routeOptions.config;
    request.base = baseUrl(request, settings.urls);
    if (request.method === 'OPTIONS') return answerOptions(reply, allow);
    if (isApi(request.routeOptions.url ?? request.url)) request.caller = await identify(request, settings);
    if (request.is404) throw new ServiceError('not_found', 'There is no such resource or page');
    if (refused === true) {
      reply.header('allow', allow ?? '');
      throw new ServiceError('method_not_allowed', `${request.method} is not possible here; possible are ${allow}`);
    }
    if (right !== undefined) requireRight(settings.policy, signedIn(request), right);
    return undefined;
  });
}

/** The caller of a request that has passed the gate. */
export function signedIn(request: FastifyRequest): Caller {
  if (request.caller === undefined) throw unauthenticated();
  return request.caller;
}

function isApi(url: string): boolean {
  return /^\/v2(?:[/?]|$)/.test(url);
}

function answerOptions(reply: FastifyReply, allow: string | undefined): FastifyReply {
  if (allow !== undefined) reply.header('allow', allow);
  return reply.code(200).header('content-length', '0').send();
}

async function identify(request: FastifyRequest, settings: GateSettings): Promise<Caller> {
  const token = tokenOf(request);
  const caller = token === undefined ? undefined : await settings.authenticate(token);
  settings.limitRate(caller === undefined ? `address ${request.ip}` : `caller ${caller.id}`);
  if (caller === undefined) throw unauthenticated();
  return applyModifiers(request, modifierParameters(request.url), caller, settings.policy);
}

/** `X-Auth-Token: T`, or `Authorization: Bearer T` (RFC 6750 section 2.1). */
function tokenOf({ headers }: FastifyRequest): string | undefined {
  const header = headers['x-auth-token'];
  const token = typeof header === 'string' && header !== '' ? header : /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  return token;
}

function unauthenticated(): ServiceError {
  return new ServiceError('unauthenticated', 'The request you have made requires authentication.');
}

/** Only lists read their query; elsewhere one that cannot be decoded is ignored like any other. */
function modifierParameters(url: string): Parameter[] {
  try {
    return readParameters(url);
  } catch {
    return [];
  }
}
