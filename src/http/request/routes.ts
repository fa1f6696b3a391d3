import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isObject } from '../../core/field.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Operation } from '../../core/resource.ts';

export type { FastifyInstance, FastifyReply, FastifyRequest };

/** Returns the text of the response, or `reply` if the handler sends the response itself. */
export type Handler = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply | string>;

/** Returns the text of `{id}` in the path of a request, or undefined for a path without `{id}`. */
export function pathId(request: FastifyRequest): string | undefined {
  const { id } = isObject(request.params) ? request.params : {};
  return typeof id === 'string' ? id : undefined;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly right?: string;
  /** The maximum body size, if it differs from the service's. */
  readonly maxBodyBytes?: number;
  /** True for probes, which are exempt from the limit on requests without a token. */
  readonly unlimited?: boolean;
  /** True for a path outside the API that needs a caller. */
  readonly needsCaller?: boolean;
  /** Returns what a 401 response says besides the error. */
  readonly signIn?: (request: FastifyRequest) => object;
  /** True for a request that reads one row by its id, and little else. */
  readonly sharesConnection?: boolean;
  readonly handler: Handler;
}

interface Running {
  count: number;
  readonly end: () => void;
  /** Called when no handler is at work any more. */
  ended: (() => void) | undefined;
}

declare module 'fastify' {
  interface FastifyInstance {
    allowed: Map<string, string>;
    /** What handlers still do, even if the client that asked for it has disconnected. */
    running: Running;
  }
  interface FastifyRequest {
    /** Stored because Fastify builds the options again at each read of `routeOptions`. */
    route: FastifyRequest['routeOptions'];
  }
  interface FastifyContextConfig {
    right?: string;
    allow?: string;
    /** True if the path does not support the method. */
    refused?: boolean;
    unlimited?: boolean;
    needsCaller?: boolean;
    signIn?: ((request: FastifyRequest) => object) | undefined;
    sharesConnection?: boolean;
  }
}

export const OPERATION_ROUTES: Readonly<
  Record<
    Operation,
    { readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'; readonly onItem: boolean }
  >
> = {
  create: { method: 'POST', onItem: false },
  list: { method: 'GET', onItem: false },
  get: { method: 'GET', onItem: true },
  update: { method: 'PATCH', onItem: true },
  delete: { method: 'DELETE', onItem: true },
};

/** Prepares an app for routes. Call it once per app, before the routes are added. */
export function prepareRoutes(app: FastifyInstance): void {
  app.decorate('allowed', new Map());
  const running: Running = {
    count: 0,
    end() {
      running.count -= 1;
      if (running.count === 0) running.ended?.();
    },
    ended: undefined,
  };
  app.decorate('running', running);
  app.decorateRequest('route');
}

/** Counts `work` as running until it has ended. */
export function running<T>(app: FastifyInstance, work: Promise<T>): Promise<T> {
  const { running } = app;
  running.count += 1;
  work.then(running.end, running.end);
  return work;
}

/**
 * Waits until no handler runs, or `signal` aborts. Closing the server waits only for connections,
 * and a handler goes on after its client has closed the connection.
 */
export async function handlersEnded(app: FastifyInstance, signal: AbortSignal): Promise<void> {
  const overdue = signal.aborted ? undefined : once(signal, 'abort');
  const { running } = app;
  while (running.count > 0 && !signal.aborted) {
    const ended = new Promise<void>((resolve) => (running.ended = resolve));
    await Promise.race([ended, overdue]);
    await nextTurn(); // a request that waited for one of them begins now
  }
}

/**
 * Returns the route of a request. If its path supports only other methods, the route is `refused`.
 * Without this function, Fastify would need a route for each of 30 methods on each path.
 */
export function routeOf({ routeOptions, url, server }: FastifyRequest): FastifyRequest['route'] {
  if (routeOptions.url !== undefined) return routeOptions;
  const segments = decodeURI(url.replace(/[?#].*/s, '')).split('/');
  const ofItem = segments.map((segment, index) => (index === ID_SEGMENT ? ':id' : segment));
  const path = [segments, ofItem]
    .map((each) => each.join('/'))
    .find((each) => server.allowed.has(each));
  const allow = server.allowed.get(path ?? '');
  if (path === undefined || allow === undefined) return routeOptions;
  return { ...routeOptions, url: path, config: { ...routeOptions.config, allow, refused: true } };
}

/** The index of the path segment that can be an id, as in `/v2/tlds/{id}`. */
const ID_SEGMENT = 3;

/**
 * Lets `change` add hooks to every route that reads a body: all routes except those for GET and
 * HEAD. Call it before the routes are added.
 */
export function forRoutesWithBodies(
  app: FastifyInstance,
  change: (route: RouteOptions) => void,
): void {
  app.addHook('onRoute', (route) => {
    if (route.method !== 'GET' && route.method !== 'HEAD') change(route);
  });
}

/** Serves each route by its method, HEAD if there is GET, and 405 for every other method. */
export function addRoutes(app: FastifyInstance, path: string, routes: readonly Route[]): void {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const allow = [...methods, 'OPTIONS'].join(', ');
  app.allowed.set(path, allow);
  for (const route of routes) {
    const { method, right, maxBodyBytes, unlimited, needsCaller, signIn, handler } = route;
    const limit = maxBodyBytes === undefined ? {} : { bodyLimit: maxBodyBytes };
    app.route({
      method,
      url: path,
      config: {
        allow,
        unlimited: unlimited === true,
        needsCaller: needsCaller === true,
        signIn,
        sharesConnection: route.sharesConnection === true,
        ...(right === undefined ? {} : { right }),
      },
      ...limit,
      handler: (request, reply) => running(app, handler(request, reply)),
    });
  }
}
