import { isObject } from '../../domain/model/field.ts';
import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Operation } from '../../domain/model/resource.ts';

/**
 * Handles one request. Returns the text of the response, or the response itself once it is sent.
 */
export type Handler = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply | string>;

/** Returns the text of `{id}` in the path of a request; undefined for a path without it. */
export function pathId(request: FastifyRequest): string | undefined {
  const { id } = isObject(request.params) ? request.params : {};
  return typeof id === 'string' ? id : undefined;
}

/** The handler of one method on a path. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The right that a caller needs. Absent for public routes. */
  readonly right?: string;
  /** The maximum body size, if it differs from the service's. */
  readonly maxBodyBytes?: number;
  /** True for probes, which are exempt from the limit on requests without a token. */
  readonly unlimited?: boolean;
  /** True for methods that are always refused, which `Allow` does not list. */
  readonly unlisted?: boolean;
  readonly handler: Handler;
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The options of the route. They are stored because the framework builds them again at each
     * read of `routeOptions`.
     */
    route: FastifyRequest['routeOptions'];
  }
  interface FastifyContextConfig {
    /** The right that a caller needs. */
    right?: string;
    /** The methods of the path, for the `Allow` header. */
    allow?: string;
    /** True for the methods that the path does not have. */
    refused?: boolean;
    /** True if the limit on requests without a token does not apply. */
    unlimited?: boolean;
  }
}

/** The method and kind of path of each operation. */
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

/**
 * Registers every method of Node.js with the framework, so that unsupported methods get 405. Call
 * it once per app.
 */
export function knowAllMethods(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method))
      app.addHttpMethod(method, { hasBody: true });
  }
}

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

/**
 * Serves `path`: each route by its method, HEAD if there is GET, and 405 for every other method.
 */
export function addRoutes(app: FastifyInstance, path: string, routes: readonly Route[]): void {
  const methodsOf = (some: readonly Route[]) =>
    some.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const methods = methodsOf(routes);
  const listed = methodsOf(routes.filter(({ unlisted = false }) => !unlisted));
  const allow = [...listed, 'OPTIONS'].join(', ');
  for (const { method, right, maxBodyBytes, unlimited = false, handler } of routes) {
    const limit = maxBodyBytes === undefined ? {} : { bodyLimit: maxBodyBytes };
    app.route({
      method,
      url: path,
      config: { allow, unlimited, ...(right === undefined ? {} : { right }) },
      ...limit,
      handler,
    });
  }
  // The guard responds to these before they get here.
  app.route({
    method: app.supportedMethods.filter((method) => !methods.includes(method)),
    url: path,
    config: { allow, refused: true },
    handler: (_request, reply) => reply.code(405).send(),
  });
}
