import { validateHeaderValue } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  readActionBody,
  readActionParameters,
  type Action,
  type ActionDependencies,
  type ActionLines,
  type ActionRequest,
} from '../resources/operations/action.ts';
import { readId } from '../resources/operations/collection.ts';
import type { Slicer } from '../core/scheduling/slicer.ts';
import { parametersOf } from './request/context.ts';
import { entityTag, expectedRevisions, knownTag, variantOf } from './request/entity-tags.ts';
import { JSON_TYPE, LINES_TYPE, mediaTypeOf } from './request/errors.ts';
import { changeContext, isForced } from './request/guard.ts';
import { readLongJsonBody } from './request/json-body.ts';
import { addRoutes, pathId, type Handler, type Route } from './request/routes.ts';
import { withMarker, withParameters } from './request/urls.ts';
import { connectionSignal, createLongWork, type RunLongWork } from './admission/admission.ts';
import { newSlicer } from '../net/slices.ts';
import { addWarnings, writersOf } from './shown-resources.ts';
import { acceptsLines, writeLongJson, type SendLines } from './long-responses.ts';

interface ActionSettings {
  /** The maximum body size in bytes, for actions that do not set a limit. */
  readonly maxBodyBytes: number;
  readonly runLongWork: RunLongWork;
  readonly sendLines: SendLines;
}

/**
 * Serves actions. An action that reads a body or sets `isLong` runs as long work, in slices. The
 * settings limit how many such requests run at a time.
 */
export function addActions(
  app: FastifyInstance,
  actions: readonly Action<ActionDependencies>[],
  settings: ActionSettings,
): void {
  for (const path of new Set(actions.map((action) => action.path))) {
    const routes = actions.filter((action) => action.path === path);
    addRoutes(
      app,
      path.replaceAll(/\{(\w+)\}/g, ':$1'),
      routes.map((action) => routeOf(action, settings)),
    );
  }
}

function routeOf(action: Action<ActionDependencies>, settings: ActionSettings): Route {
  const { body, method, right } = action;
  // A large body takes up to 50 MB, so each action that reads such bodies has one turn of its own.
  const runLong = body?.maxBytes === undefined ? settings.runLongWork : createLongWork(1);
  const run: Run = (request, work) =>
    body === undefined && action.isLong !== true ? work(newSlicer()) : runLong(request, work);
  const handler: Handler = async (request, reply) => {
    const stream = async ({ run: begin }: ActionLines<ActionDependencies>) => {
      const input = await readRequest(request, action, newSlicer());
      if (request.method === 'HEAD') return reply.type(LINES_TYPE).send();
      return settings.sendLines(request, reply, () => begin(input));
    };
    if (!('run' in action)) return stream(action.lines);
    if ('lines' in action && acceptsLines(request)) return stream(action.lines);
    if ('creates' in action) return create(action, request, reply, run);
    if ('empty' in action) {
      await run(request, async (slicer) => action.run(await readRequest(request, action, slicer)));
      return reply.code(204).header('content-length', '0').send();
    }
    if ('file' in action) {
      const { text, fileName } = await run(request, async (slicer) =>
        action.run(await readRequest(request, action, slicer)),
      );
      reply.header('content-type', `${mediaTypeOf(fileName)}; charset=UTF-8`);
      return reply.header('content-disposition', `attachment; filename="${fileName}"`).send(text);
    }
    const json = await run(request, async (slicer) => {
      const input = await readRequest(request, action, slicer);
      if (!('isConditional' in action)) {
        const result = await action.run(input);
        if (action.tagged !== undefined)
          reply.header('etag', entityTag(tagOf(action.tagged(result))));
        return writeLongJson(slicer, result);
      }
      const result = await action.run(input);
      reply.header('etag', entityTag(result?.tag ?? input.knownTag ?? ''));
      return result === undefined ? undefined : writeLongJson(slicer, result);
    });
    if (json === undefined) return reply.code(304).send();
    return reply.header('content-type', JSON_TYPE).send(json);
  };
  const limit =
    body?.maxBytes === undefined
      ? {}
      : { maxBodyBytes: Math.max(body.maxBytes, settings.maxBodyBytes) };
  return { method, ...(right === undefined ? {} : { right }), ...limit, handler };
}

async function create(
  action: Extract<Action<ActionDependencies>, { readonly creates: unknown }>,
  request: FastifyRequest,
  reply: FastifyReply,
  run: Run,
): Promise<string> {
  const { type } = action;
  const url = `${request.base}/v2/${type.collection}`;
  validateHeaderValue('location', url);
  const { writerFor, seesWarnings } = writersOf(type);
  const writer = writerFor(request);
  return run(request, async (slicer) => {
    const input = await readRequest(request, action, slicer);
    const warnings: string[] = [];
    const context = { ...input.context, warnings };
    const resource = await action.run({ ...input, context });
    reply.code(201).type(JSON_TYPE).header('location', `${url}/${resource.id}`);
    if (seesWarnings(request)) addWarnings(reply, context);
    return writer.write(resource, url);
  });
}

/** Returns the tag of a state that is part of no resource's revision. */
function tagOf(state: object): string {
  return variantOf(JSON.stringify(state));
}

type Run = <T>(request: FastifyRequest, work: (slicer: Slicer) => Promise<T>) => Promise<T>;

/**
 * Reads the request of an action. Throws `invalid_uuid`, `bad_request`, and the errors of
 * `readLongJsonBody` and `readActionBody`.
 */
async function readRequest(
  request: FastifyRequest,
  action: Action,
  slicer: Slicer,
): Promise<ActionRequest> {
  const id = pathId(request);
  const expected = expectedRevisions(request);
  return {
    dependencies: request.settings.dependencies,
    context: changeContext(request),
    base: request.base,
    id: id === undefined ? '' : readId(action.type, id),
    parameters:
      action.parameters === undefined
        ? {}
        : readActionParameters(action.parameters, parametersOf(request)),
    body:
      action.body === undefined
        ? undefined
        : readActionBody(action.body, await readLongJsonBody(request, slicer)),
    knownTag: knownTag(request),
    expects: expected && ((state) => expected.includes(tagOf(state))),
    isForced: isForced(request),
    slicer,
    connection: {
      async waitFor(work) {
        request.releaseConnection?.();
        return work();
      },
      disconnected: () => connectionSignal(request.raw.socket),
    },
    pageLinks(marker) {
      const url = request.base + action.path;
      const given = parametersOf(request);
      return {
        self: withParameters(url, given),
        ...(marker === undefined ? {} : { next: withParameters(url, withMarker(given, marker)) }),
      };
    },
  };
}
