import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { normaliseUuid } from '../core/field.ts';
import { withoutTokens } from '../core/text/token-form.ts';
import type { Metrics } from './metrics/metrics.ts';
import { globalRequestId } from './request/guard.ts';
import { pathId } from './request/routes.ts';

/** The part of a structured logger that the server uses. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface RequestLogSettings {
  readonly log: Log;
  readonly metrics: Metrics;
}

interface CompletedRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly milliseconds: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The time when the request headers were read, in milliseconds of a monotonic clock. */
    began: number;
  }
}

interface RequestLog {
  /** Stores when a request began. Call it before any other work for the request. */
  begin(request: FastifyRequest): void;
  /** Logs and counts the request after its response is sent. Call it when the response is final. */
  end(request: FastifyRequest, reply: FastifyReply): void;
}

/** Handles all requests of a turn of the event loop at its end, which halves its CPU time. */
export function createRequestLog(
  app: FastifyInstance,
  { log, metrics }: RequestLogSettings,
): RequestLog {
  let completed: CompletedRequest[] = [];
  const flush = () => {
    const requests = completed;
    completed = [];
    for (const each of requests) {
      const { request, reply, milliseconds } = each;
      const route = request.route.url ?? '(unknown)';
      const labels = { method: request.method, route, status: reply.statusCode };
      metrics.note('http_request_duration_seconds', milliseconds / 1000, labels);
      if (reply.statusCode >= 500) metrics.note('http_request_errors_total', 1, labels);
      log.info(describeRequest(each, route), 'request');
    }
  };
  const note = (request: FastifyRequest, reply: FastifyReply) => {
    if (completed.length === 0) setImmediate(flush);
    completed.push({ request, reply, milliseconds: performance.now() - request.began });
  };
  app.decorateRequest('began', 0);
  app.addHook('onClose', async () => flush());
  return {
    begin(request) {
      request.began = performance.now();
    },
    end(request, reply) {
      // The response to a disconnected caller never finishes, and may already have emitted 'close'.
      if (request.raw.socket.destroyed) note(request, reply);
      else reply.raw.on('close', () => note(request, reply));
    },
  };
}

/**
 * Returns the log line of a request. Of the caller's input, the line contains only the id of a
 * resource and, if valid, the caller's request id.
 */
function describeRequest(
  { request, reply, milliseconds }: CompletedRequest,
  route: string,
): object {
  const { caller } = request;
  const resource = normaliseUuid(pathId(request) ?? '');
  // Members without a value are omitted from the line.
  return {
    requestId: request.id,
    globalRequestId: globalRequestId(request),
    method: request.method,
    route,
    resource,
    status: reply.statusCode,
    durationMs: Math.round(milliseconds * 1000) / 1000,
    caller: caller === undefined ? undefined : withoutTokens(caller.name),
    callerId: caller?.id,
    projectId: caller?.projectId,
    address: request.address,
  };
}
