import { asError, ServiceError } from '../core/errors.ts';
import { STATUS_CODES, type RequestListener } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller } from '../core/caller.ts';
import { isObject } from '../core/field.ts';
import type { Authenticate, KnownCaller } from '../core/ports.ts';
import type { Action, ActionDependencies } from '../resources/operations/action.ts';
import { RESOURCE_TYPES } from '../resources/resources.ts';
import { singleFlight } from '../core/scheduling/single-flight.ts';
import { codeOf } from '../net/faults.ts';
import { addActions } from './actions.ts';
import { createAdmission, createLongWork, type AdmissionLimits } from './admission/admission.ts';
import { addCollection } from './collections.ts';
import { REQUEST_ID_HEADER } from './request/context.ts';
import { errorResponse, toServiceError, type ErrorResponseSettings } from './request/errors.ts';
import {
  createGuard,
  recordRefusal,
  requestOwner,
  type Passed,
  type RequestSettings,
} from './request/guard.ts';
import { createLineSender } from './long-responses.ts';
import { isEncoded } from './request/json-body.ts';
import type { Metrics } from './metrics/metrics.ts';
import { addMetrics, addProbes } from './operator-routes.ts';
import { addDocuments } from './openapi/documents.ts';
import {
  MAX_HEADER_BYTES,
  createNodeServer,
  securityHeaders,
  type NodeServerSettings,
} from './connection/node-server.ts';
import { hasWaiting } from './connection/pipelining.ts';
import { createResponseBatches } from './connection/response-batches.ts';
import { createSettings, type LiveSettings } from './live-settings.ts';
import { createRequestLog, type Log } from './request-log.ts';
import { prepareRoutes, routeOf } from './request/routes.ts';
import { pathAndQuery, type UrlSettings } from './request/urls.ts';

export interface ServerOptions
  extends NodeServerSettings, LiveSettings, Omit<AdmissionLimits, 'largestBody'> {
  readonly authenticate: Authenticate;
  readonly known: KnownCaller;
  /** Records that a token was used. Must not delay the request. */
  readonly noteUse: (caller: Caller) => void;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly version: string;
  readonly guides: string;
  readonly actions: readonly Action[];
  readonly urls: UrlSettings;
  readonly errors: ErrorResponseSettings;
  readonly maxBodyBytes: number;
  /** Add the routes that belong neither to a resource nor to an action, nor to HTTP itself. */
  readonly furtherRoutes: readonly ((app: FastifyInstance) => void)[];
  /** Whether the web console is among these routes. */
  readonly hasConsole: boolean;
}

/** The response statuses that the audit trail counts as refused requests. */
const RECORDED_STATUSES: readonly number[] = [403, 409, 422];

const NO_QUERY = Object.freeze({});

export interface HttpServer<D extends ActionDependencies = ActionDependencies> {
  readonly app: FastifyInstance;
  change(settings: LiveSettings<D>): void;
}

/** The dependencies, at first and after each change, are those that the actions need. */
export function createServer<D extends ActionDependencies>(
  options: ServerOptions & LiveSettings<D> & { readonly actions: readonly Action<D>[] },
): HttpServer<D> {
  const everyHeaders = securityHeaders(options.tls);
  const app = createApp(options, everyHeaders);
  prepareRoutes(app);
  const settings = createSettings(options, () => performance.now() / 1000);
  checkRequests(app, options, settings.current, everyHeaders);
  addAllRoutes(app, options);
  return { app, change: settings.change };
}

function createApp(
  options: ServerOptions,
  everyHeaders: Readonly<Record<string, string>>,
): FastifyInstance {
  const { dependencies, metrics, errors } = options;
  const sendError = errorSender(options);
  const writeRefusal = (error: unknown) => refusalText(error, everyHeaders, errors);
  const app = Fastify({
    serverFactory: (handle: RequestListener) =>
      createNodeServer(handle, options, metrics, writeRefusal),
    ...(options.tls.cert === undefined ? {} : { https: {} }), // for an https URL from `listen`
    genReqId: () => `req-${dependencies.newId()}`,
    bodyLimit: options.maxBodyBytes,
    requestTimeout: options.requestTimeoutSeconds * 1000,
    return503OnClosing: false,
    rewriteUrl: ({ url }) => pathAndQuery(url ?? '/'),
    // Without these functions, Fastify would load schema compilers, which are a fifth of all code
    // loaded at startup. No route has a Fastify schema.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
    // Handlers that need the query parse it themselves.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES, querystringParser: () => NO_QUERY },
    frameworkErrors: (error, request, reply) =>
      void sendError(
        error,
        request,
        reply.headers(everyHeaders).header(REQUEST_ID_HEADER, request.id),
      ),
    clientErrorHandler: () => undefined, // createNodeServer handles these errors
  }) as unknown as FastifyInstance;
  app.setErrorHandler(sendError);
  // The request guard rejects unknown paths before this handler runs.
  app.setNotFoundHandler((_request, reply) => reply.code(404).send());
  app.removeAllContentTypeParsers();
  // `*` accepts all types. JSON is also listed, because Fastify finds a listed type faster.
  app.addContentTypeParser(
    ['application/json', '*'],
    { parseAs: 'buffer' },
    ({ headers }, body, done) =>
      isEncoded(headers['content-encoding'])
        ? done(new ServiceError('unsupported_content_encoding'))
        : done(null, body),
  );
  return app;
}

function errorSender({ log, errors }: ServerOptions) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = toServiceError(error);
    const response = errorResponse(known, request.id, errors);
    const { status, headers } = response;
    const signIn = status === 401 ? request.route.config.signIn?.(request) : undefined;
    const body =
      signIn === undefined
        ? response.body
        : `${response.body.slice(0, -1)},${JSON.stringify(signIn).slice(1)}`;
    if (RECORDED_STATUSES.includes(status) || known.code === 'access_denied')
      recordRefusal(request, known);
    // An overload appears only in the log line of the request. Further lines would add load.
    const isOverload = known.code === 'unavailable' && known.details.cause === undefined;
    if (status >= 500 && !isOverload)
      log.error({ requestId: request.id, err: known.details.cause ?? known }, known.message);
    return reply.code(status).headers(headers).send(body);
  };
}

/** Logs, admits and checks each request before its handler. */
function checkRequests(
  app: FastifyInstance,
  options: ServerOptions,
  currentSettings: () => RequestSettings,
  everyHeaders: Readonly<Record<string, string>>,
): void {
  const { log, metrics, maxBodyBytes, actions } = options;
  const requestLog = createRequestLog(app, { log, metrics });
  const guard = createGuard(app, options);
  const largeBodies = actions.flatMap(({ body }) => body?.maxBytes ?? []);
  const largestBody = Math.max(maxBodyBytes, ...largeBodies);
  const admission = createAdmission(app, { ...options, largestBody }, metrics, (request) =>
    requestOwner(request, options),
  );
  const enter = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    let passed: Passed;
    try {
      passed = guard(request, reply);
      if (passed === true) admission.check(request);
    } catch (error) {
      done(asError(error));
      return;
    }
    if (passed === true) done();
    else if (passed !== false) passed.then(() => admission.check(request)).then(() => done(), done);
  };
  // One hook instead of several, because each hook adds time to every request.
  app.decorateRequest('settings');
  app.addHook('onRequest', (request, reply, done) => {
    // Headers of Fastify, because with one of Node.js it would copy all others into those.
    reply.headers(everyHeaders);
    request.route = routeOf(request);
    request.settings = currentSettings();
    requestLog.begin(request);
    admission.begin(request, () => enter(request, reply, done), done);
  });
  const sendInBatch = createResponseBatches({ now: () => performance.now(), later: setImmediate });
  app.addHook('onSend', (request, reply, payload, done) => {
    admission.leave(request, reply, payload);
    requestLog.end(request, reply);
    const send = () => {
      closeIfStopping(app, request, reply);
      done();
    };
    // Only successful reads wait. A client that closes its side of the connection after a change
    // still gets the response.
    if (request.method !== 'GET' || reply.statusCode !== 200) send();
    else
      sendInBatch(send, (err) => {
        log.error({ requestId: request.id, err }, 'Sending the response failed');
        request.raw.socket.destroy();
      });
  });
}

/**
 * Lets the last response of a connection close it, because an idle connection would delay a
 * shutdown. Fastify would close the connection after every response and drop the waiting requests.
 */
function closeIfStopping(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): void {
  if (app.server.listening) return;
  if (hasWaiting(request.raw.socket)) reply.raw.removeHeader('connection');
  else reply.header('connection', 'close');
}

function addAllRoutes(app: FastifyInstance, options: ServerOptions): void {
  const { dependencies, metrics, version, guides, actions, furtherRoutes, hasConsole } = options;
  const { store, settings } = dependencies;
  const ping = singleFlight(() => store.ping());
  addProbes(app, ping, hasConsole);
  for (const add of furtherRoutes) add(app);
  addMetrics(app, metrics, { store, ping });
  addDocuments(app, { version, guides, actions }, hasConsole);
  for (const type of RESOURCE_TYPES) addCollection(app, type, settings);
  // safe: the type of `createServer` lets only dependencies in that its actions need
  addActions(app, actions as readonly Action<ActionDependencies>[], {
    ...options,
    runLongWork: createLongWork(2),
    sendLines: createLineSender(),
  });
}

function noCompiler(): never {
  throw new Error('Fastify must not compile schemas: the domain validates all values');
}

/** Returns the response to input that is not an HTTP request, or an incomplete one. */
function refusalText(
  error: unknown,
  extraHeaders: Readonly<Record<string, string>>,
  settings: ErrorResponseSettings,
): string {
  const { status, headers, body } = errorResponse(
    toServiceError({ statusCode: 400, ...(isObject(error) ? error : {}), code: codeOf(error) }),
    undefined,
    settings,
  );
  const lines = Object.entries({
    ...headers,
    ...extraHeaders,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
