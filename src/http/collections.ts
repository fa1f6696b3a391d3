import { validateHeaderValue } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ChangeContext } from '../resources/operations/change.ts';
import {
  createResource,
  deleteResource,
  getResource,
  listResources,
  readId,
  updateResource,
} from '../resources/operations/collection.ts';
import { pendingMembers, secretFields, successStatus } from '../core/response.ts';
import { revisionOf, type Operation, type Resource, type ResourceType } from '../core/resource.ts';
import { isLive } from '../resources/operations/live-status.ts';
import type { Settings } from '../core/settings.ts';
import { connectionSignal } from './admission/admission.ts';
import { entityTag, expectedRevisions, isKnown, variantOf } from './request/entity-tags.ts';
import { JSON_TYPE } from './request/errors.ts';
import { changeContext, isForced, signedIn } from './request/guard.ts';
import { HIDE_COUNTS, isSet, parametersOf } from './request/context.ts';
import { countFitting, isLonger } from './long-responses.ts';
import type { ResourceWriter } from './resource-json.ts';
import { addRoutes, OPERATION_ROUTES, pathId, type Handler } from './request/routes.ts';
import { readJsonBody } from './request/json-body.ts';
import { withMarker, withParameters } from './request/urls.ts';
import { secretReadsOf } from './secret-reads.ts';
import { addWarnings, writersOf } from './shown-resources.ts';

export function addCollection(
  app: FastifyInstance,
  type: ResourceType,
  settings: Pick<Settings, 'pendingStatus'>,
): void {
  const collection = prepare(type, settings);
  const handlers: Record<Operation, Handler> = {
    create: creationIn(collection),
    list: listOf(collection),
    get: readingIn(collection),
    update: updateIn(collection),
    delete: deletionIn(collection),
  };
  for (const onItem of [false, true]) {
    const operations = type.operations.filter(
      (operation) => OPERATION_ROUTES[operation].onItem === onItem,
    );
    addRoutes(
      app,
      onItem ? `/v2/${type.collection}/:id` : `/v2/${type.collection}`,
      operations.map((operation) => ({
        method: OPERATION_ROUTES[operation].method,
        right: `${type.collection}:${operation}`,
        sharesConnection: operation === 'get' && !isLive(type),
        handler: handlers[operation],
      })),
    );
  }
}

type Collection = ReturnType<typeof prepare>;

/** Returns what the handlers of a collection share. */
function prepare(type: ResourceType, settings: Pick<Settings, 'pendingStatus'>) {
  const secrets = secretFields(type);
  const writers = writersOf(type);
  const [createdMembers, updatedMembers] = (['create', 'update'] as const).map((operation) =>
    pendingMembers(type, operation, settings),
  );
  // The state of name servers and the last use of tokens change without a new revision.
  const hasVariants = isLive(type) || type.withoutUpdatedAt === true;
  const path = `/v2/${type.collection}`;
  return {
    type,
    writers,
    secrets,
    createdMembers,
    updatedMembers,
    hasVariants,
    recordSecrets: secretReadsOf(type),
    shownOnce: Object.keys(type.shownOnce ?? {}),
    urlOf: (request: FastifyRequest) => `${request.base}${path}`,
    statusOf: (operation: Operation, usual: number) =>
      successStatus(type, operation, settings, usual),
    /** Returns the context of a change. Only callers who may see secrets get warnings. */
    contextOf(request: FastifyRequest): ChangeContext {
      const context = changeContext(request, isForced(request));
      const warns = type.warnings !== undefined && writers.seesWarnings(request);
      return warns ? { ...context, warnings: [] } : context;
    },
    tagOf(resource: Resource, writer: ResourceWriter, text: string) {
      const hidden = secrets.length > 0 && writer !== writers.whole ? 'hidden' : undefined;
      return entityTag(revisionOf(resource), hasVariants ? variantOf(text) : hidden);
    },
  };
}

function idOf(type: ResourceType, request: FastifyRequest): string {
  return readId(type, pathId(request) ?? '');
}

function isCounted(type: ResourceType, request: FastifyRequest): boolean {
  return type.owner !== undefined && !isSet(request, HIDE_COUNTS);
}

function creationIn({
  type,
  writers: { creationWriter },
  contextOf,
  urlOf,
  statusOf,
  createdMembers,
  shownOnce,
}: Collection): Handler {
  return async (request, reply) => {
    const { dependencies } = request.settings;
    const body = readJsonBody(request);
    // If the response cannot be built or sent, no resource is stored.
    let location = '';
    let text = '';
    const writer = creationWriter(request);
    const context = contextOf(request);
    const respond = (resource: Resource) => {
      location = `${urlOf(request)}/${resource.id}`;
      validateHeaderValue('location', location);
      const shown = createdMembers === undefined ? resource : { ...resource, ...createdMembers };
      text = writer.writeWith(shown, urlOf(request), shownOnce);
    };
    await createResource(dependencies, type, context, body, { respond });
    reply.code(statusOf('create', 201)).type(JSON_TYPE).header('location', location);
    addWarnings(reply, context);
    return text;
  };
}

function listOf({
  type,
  writers: { whole, writerFor },
  recordSecrets,
  urlOf,
}: Collection): Handler {
  const listName = JSON.stringify(type.collection);
  return async (request, reply) => {
    const { dependencies } = request.settings;
    const { maxPageBytes } = dependencies.settings;
    const caller = signedIn(request);
    const parameters = parametersOf(request);
    const { resources, more, total } = await listResources(dependencies, type, caller, parameters, {
      count: isCounted(type, request),
      signal: () => {
        request.releaseConnection?.();
        return connectionSignal(request.raw.socket);
      },
    });
    const base = urlOf(request);
    const self = withParameters(base, parameters);
    const pageOf = (items: string, shown: number) => {
      const last = more || shown < resources.length ? resources[shown - 1] : undefined;
      const links = {
        self,
        ...(last === undefined
          ? {}
          : { next: withParameters(base, withMarker(parameters, last.id)) }),
      };
      const metadata = total === undefined ? '' : `,"metadata":{"total_count":${total}}`;
      return `{${listName}:${items},"links":${JSON.stringify(links)}${metadata}}`;
    };
    const writer = writerFor(request);
    const page = pageOf(writer.writeList(resources, base), resources.length);
    reply.type(JSON_TYPE);
    const texts = isLonger(page, maxPageBytes)
      ? resources.map((resource) => writer.write(resource, base))
      : undefined;
    const shown = texts === undefined ? resources.length : countFitting(texts, maxPageBytes);
    if (writer === whole) await recordSecrets(request, 'list', resources.slice(0, shown));
    return texts === undefined ? page : pageOf(`[${texts.slice(0, shown).join(',')}]`, shown);
  };
}

function readingIn({
  type,
  writers: { whole, writerFor },
  recordSecrets,
  secrets,
  hasVariants,
  urlOf,
  tagOf,
}: Collection): Handler {
  return async (request, reply) => {
    const { dependencies } = request.settings;
    const caller = signedIn(request);
    const resource = await getResource(dependencies, type, caller, idOf(type, request));
    const writer = writerFor(request);
    const text = hasVariants ? writer.write(resource, urlOf(request)) : '';
    const tag = tagOf(resource, writer, text);
    reply.header('etag', tag);
    if (isKnown(request, tag)) return reply.code(304).send();
    reply.type(JSON_TYPE);
    if (secrets.length > 0 && writer === whole) await recordSecrets(request, 'get', [resource]);
    return hasVariants ? text : writer.write(resource, urlOf(request));
  };
}

function updateIn({
  type,
  writers: { whole, writerFor },
  recordSecrets,
  secrets,
  contextOf,
  urlOf,
  tagOf,
  statusOf,
  updatedMembers,
}: Collection): Handler {
  return async (request, reply) => {
    const { dependencies } = request.settings;
    const id = idOf(type, request);
    const body = readJsonBody(request);
    const writer = writerFor(request);
    const context = contextOf(request);
    const expected = expectedRevisions(request);
    const resource = await updateResource(dependencies, type, context, id, body, expected);
    addWarnings(reply, context);
    reply.code(statusOf('update', 200)).type(JSON_TYPE);
    const text = writer.write({ ...resource, ...updatedMembers }, urlOf(request));
    if (updatedMembers === undefined) reply.header('etag', tagOf(resource, writer, text));
    // A change whose response shows a secret that the caller did not send is also a read.
    const sent = body as Partial<Resource>; // safe: `updateResource` has checked it
    if (writer === whole && secrets.some((name) => sent[name] !== resource[name]))
      await recordSecrets(request, 'get', [resource]);
    return text;
  };
}

function deletionIn({ type, writers: { writerFor }, urlOf, statusOf }: Collection): Handler {
  return async (request, reply) => {
    const resource = await deleteResource(
      request.settings.dependencies,
      type,
      changeContext(request, isForced(request)),
      idOf(type, request),
      expectedRevisions(request),
    );
    const status = statusOf('delete', 204);
    if (status !== 204) {
      reply.code(status).type(JSON_TYPE);
      return writerFor(request).write(resource, urlOf(request));
    }
    return reply.code(204).header('content-length', '0').send();
  };
}
