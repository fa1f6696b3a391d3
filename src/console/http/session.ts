import { whoamiOf } from '../../tokens/actions/whoami.ts';
import { createCode, credentialOf, endSession } from '../../tokens/session-operations.ts';
import { FAULTS } from '../../delivery/faults.ts';
import { resourceDefinitions } from '../../resources/describe-resource.ts';
import type { Caller } from '../../core/caller.ts';
import { ServiceError } from '../../core/errors.ts';
import { ALL_PROJECTS, may, READ_ALL_PROJECTS } from '../../resources/policy.ts';
import { SESSION_CREDENTIAL } from '../../resources/session.ts';
import { millisecondsOf, timestampOf } from '../../core/text/timestamps.ts';
import { cookieFor } from '../../http/request/cookie.ts';
import { JSON_TYPE } from '../../http/request/errors.ts';
import { changeContext, signedIn, tokenOf } from '../../http/request/guard.ts';
import { createSignIn, type ConsoleSessions } from './sign-in.ts';
import {
  addRoutes,
  type FastifyInstance,
  type FastifyRequest,
  type Handler,
} from '../../http/request/routes.ts';
import { baseUrl } from '../../http/request/urls.ts';

const SESSION_PATH = '/console/session';
const CODE_PATH = '/console/code';

const INSECURE =
  'The connection is not encrypted, so a sign-in could be read on the way. Configure tls.cert and tls.key, or put a proxy with TLS in front and set api.trustProxyHeaders.';

export function addConsoleSessions(app: FastifyInstance, sessions: ConsoleSessions): void {
  const { urls, version, idleSeconds, methods } = sessions;
  const signIn = createSignIn(sessions);
  const refusal = (request: FastifyRequest) => {
    const isSecure = cookieFor(baseUrl(request, urls)) !== undefined;
    const members = { methods, secure: isSecure };
    return isSecure ? members : { ...members, reason: INSECURE };
  };
  const describe = (request: FastifyRequest, caller: Caller) => {
    const { session } = caller;
    if (session === undefined) throw new ServiceError('unauthenticated');
    const { policy } = request.settings.dependencies;
    const { id, name, roles, project_id, rights } = whoamiOf(policy, caller);
    const idleAt = timestampOf(millisecondsOf(session.seenAt) + idleSeconds * 1000);
    return JSON.stringify({
      caller: {
        id,
        name,
        roles,
        project_id,
        all_projects: [ALL_PROJECTS, READ_ALL_PROJECTS].some((each) => may(policy, caller, each)),
      },
      rights,
      expires: {
        idle_at: idleAt < session.expiresAt ? idleAt : session.expiresAt,
        absolute_at: session.expiresAt,
      },
      idle_seconds: idleSeconds,
      version,
      definitions: resourceDefinitions(),
      faults: FAULTS,
    });
  };

  const create: Handler = async (request, reply) => {
    const value = await signIn(request);
    const cookie = cookieFor(request.base);
    const caller = await sessions.authenticate(SESSION_CREDENTIAL + value);
    if (cookie === undefined || caller === undefined) throw new ServiceError('sign_in_failed');
    reply.header('set-cookie', `${cookie.name}=${value}; ${cookie.attributes}`);
    return reply.code(201).type(JSON_TYPE).send(describe(request, caller));
  };
  const get: Handler = async (request, reply) =>
    reply.type(JSON_TYPE).send(describe(request, signedIn(request)));
  const end: Handler = async (request, reply) => {
    const { session } = signedIn(request);
    if (session === undefined) throw new ServiceError('unauthenticated');
    const context = changeContext(request);
    const { dependencies } = request.settings;
    await endSession(dependencies, context, session.id, () => true);
    const cookie = cookieFor(request.base);
    if (cookie !== undefined)
      reply.header('set-cookie', `${cookie.name}=; Max-Age=0; ${cookie.attributes}`);
    return reply.code(204).header('clear-site-data', '"storage"').send();
  };
  /** Returns a code with which the caller of a token opens a session in a browser. */
  const code: Handler = async (request, reply) => {
    const caller = signedIn(request);
    const token = tokenOf(request);
    // Otherwise a session could be prolonged for ever.
    if (token === undefined) throw new ServiceError('unauthenticated');
    const { dependencies } = request.settings;
    const context = changeContext(request);
    const created = await createCode(dependencies, context, credentialOf(caller, token));
    const body = { code: created.code, expires_at: created.expiresAt };
    return reply.code(201).type(JSON_TYPE).send(JSON.stringify(body));
  };
  addRoutes(app, CODE_PATH, [{ method: 'POST', needsCaller: true, handler: code }]);
  addRoutes(app, SESSION_PATH, [
    { method: 'POST', signIn: refusal, handler: create },
    { method: 'GET', needsCaller: true, signIn: refusal, handler: get },
    { method: 'DELETE', needsCaller: true, signIn: refusal, handler: end },
  ]);
}
