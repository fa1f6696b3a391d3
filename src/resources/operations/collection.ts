import { readChanges, readCreation } from './body.ts';
import type { Caller } from '../../core/caller.ts';
import { admitChange } from './admission.ts';
import { change, type ChangeContext, type Dependencies } from './change.ts';
import { MAX_NAMED, ServiceError, isUnavailable } from '../../core/errors.ts';
import { normaliseUuid } from '../../core/field.ts';
import { readListRequest, type Parameter } from './list-query.ts';
import { isLive, showLive } from './live-status.ts';
import { may, requireRight, type Policy } from '../policy.ts';
import { token } from '../token.ts';
import type { Page, Reader, Store } from '../../core/ports.ts';
import { type PageQuery, type ComputedCondition, keyed, uniqueFormOf } from '../../core/query.ts';
import {
  newMembers,
  revisionOf,
  type Given,
  type Resource,
  type ResourceType,
} from '../../core/resource.ts';
import {
  findReferences,
  readReferenceFilters,
  readSelectors,
  type ReferenceDependencies,
} from './references.ts';
import { existing, isVisible, listConditions } from './visibility.ts';
import { looksLikeToken } from '../../core/text/token-form.ts';

/** What happens with a new resource before the commit. If a function throws, nothing is stored. */
interface BeforeCommit {
  /** Builds the response. Has no other effect, because the creation may still fail. */
  respond?(created: Resource): void;
  /** Has effects outside the database. Called when only the commit can still fail. */
  publish?(created: Resource): void;
}

/**
 * Creates a resource from a request body and returns it, with the members that appear only in this
 * response. Throws `invalid_object`, the errors of the type's rules, `duplicate` and `unavailable`.
 */
export async function createResource(
  dependencies: Dependencies,
  type: ResourceType,
  context: ChangeContext,
  body: unknown,
  { respond, publish }: BeforeCommit = {},
): Promise<Resource> {
  const references = await findReferences(
    referenceDependencies(dependencies, context.caller, dependencies.store),
    type,
    body,
  );
  const given = readCreation(type, body, dependencies.settings, references);
  const id = dependencies.newId();
  try {
    return await change(
      dependencies,
      context,
      async (changes) => {
        const draft = { ...given, ...newMembers(type, id, changes.now()) };
        const { resource, shownOnce } = await changes.create(type, keyed(type, draft));
        const created = shownOnce === undefined ? resource : { ...resource, ...shownOnce };
        respond?.(created);
        return created;
      },
      publish,
    );
  } catch (error) {
    throw await namingDuplicate(dependencies, type, context.caller, given, error);
  }
}

/** Returns `error`; a `duplicate` names the other resource if the caller can see it. */
async function namingDuplicate(
  { store, policy }: Dependencies,
  type: ResourceType,
  caller: Caller,
  given: Readonly<Record<string, unknown>>,
  error: unknown,
): Promise<unknown> {
  const { unique } = type;
  if (!(error instanceof ServiceError && error.code === 'duplicate')) return error;
  if (unique === undefined || given[unique.field] === undefined) return error;
  if (!may(policy, caller, `${type.collection}:get`)) return error;
  const owners: string[] = [];
  for (const other of await store.find(type, unique.field, [uniqueFormOf(type, given)]))
    if (await isVisible(store, type, caller, other))
      owners.push(`'${String(other[unique.field])}' with the id ${other.id}`);
  if (owners.length === 0) return error;
  const place = `the name belongs to ${owners.slice(0, MAX_NAMED).join(' and ')}`;
  return new ServiceError('duplicate', { type, place }, error.details);
}

interface ListOptions {
  /** Whether to count the resources on all pages. Ignored for a list with computed filters. */
  readonly count: boolean;
  /** Called only for a list that needs a scan. */
  signal(): AbortSignal | undefined;
}

const DEFAULT_LIST_OPTIONS: ListOptions = { count: false, signal: () => undefined };

/**
 * A page that reaches `maxPageBytes` may have fewer resources than requested, even if more follow.
 * Throws the errors of `readListRequest`, `access_denied`, `marker_not_found` if the marker's
 * resource does not exist, and `unavailable`.
 */
export async function listResources(
  dependencies: Dependencies,
  type: ResourceType,
  caller: Caller,
  parameters: readonly Parameter[],
  options = DEFAULT_LIST_OPTIONS,
): Promise<Page> {
  const { store, settings, policy } = dependencies;
  const named = await readReferenceFilters(
    referenceDependencies(dependencies, caller, store),
    type,
    parameters,
  );
  const selected = await readSelectors(store, type, named.otherParameters);
  const { marker, limit, sortField, descending, ...request } = readListRequest(
    type,
    selected.otherParameters,
    settings.defaultLimit,
  );
  const viewer = viewerOf(policy, type, caller, request.computed);
  const after = marker === undefined ? undefined : await findMarker(store, type, viewer, marker);
  const isComputed = request.computed.length > 0;
  const query: PageQuery = {
    limit,
    sortField,
    descending,
    conditions: listConditions(type, viewer, [
      ...named.conditions,
      ...selected.conditions,
      ...request.conditions,
    ]),
    maxBytes: settings.maxPageBytes,
    shownOnly: !isComputed,
    count: options.count && !isComputed,
    ...(isComputed ? { computed: { conditions: request.computed, settings } } : {}),
    ...(after === undefined ? {} : { after: { sortValue: after[sortField], id: after.id } }),
  };
  const page = await store.page(type, query, {
    owner: caller.id,
    signal: () => options.signal(),
  });
  if (!isLive(type)) return page;
  return { ...page, resources: await showLive(dependencies.delivery, caller, page.resources) };
}

async function findMarker(
  store: Store,
  type: ResourceType,
  viewer: Caller,
  id: string,
): Promise<Resource> {
  const resource = await store.get(type, id);
  if (resource === undefined || !(await isVisible(store, type, viewer, resource))) {
    throw new ServiceError('marker_not_found', { id, title: type.title });
  }
  return resource;
}

/** Throws `resource_not_found`, also for one of another project or outside the token's limits. */
export async function getResource(
  { store, delivery }: Dependencies,
  type: ResourceType,
  caller: Caller,
  id: string,
): Promise<Resource> {
  const resource = await existing(store, type, caller, await store.get(type, id));
  if (!isLive(type)) return resource;
  const [live = resource] = await showLive(delivery, caller, [resource]);
  return live;
}

/**
 * With `revisions`, the resource must have one of these. Throws `resource_not_found`,
 * `precondition_failed`, `invalid_object`, the errors of the type's rules, `duplicate` and
 * `unavailable`, in this order.
 */
export async function updateResource(
  dependencies: Dependencies,
  type: ResourceType,
  context: ChangeContext,
  id: string,
  body: unknown,
  revisions?: readonly string[],
): Promise<Resource> {
  let given: Given = {};
  try {
    return await change(dependencies, context, async (changes) => {
      const found = await changes.getToChange(type, id);
      const current = await existing(changes, type, context.caller, found);
      assertRevision(current, revisions);
      const references = await findReferences(
        referenceDependencies(dependencies, context.caller, changes),
        type,
        body,
      );
      given = readChanges(type, body, dependencies.settings, current, references);
      return changes.update(type, current, given);
    });
  } catch (error) {
    throw await namingDuplicate(dependencies, type, context.caller, given, error);
  }
}

function assertRevision(resource: Resource, revisions: readonly string[] | undefined): void {
  if (revisions === undefined || revisions.includes(revisionOf(resource))) return;
  const { updated_at: updated, created_at: created } = resource;
  throw new ServiceError('precondition_failed', updated ?? created);
}

/**
 * With `revisions`, the resource must have one of these. Throws `resource_not_found`,
 * `precondition_failed`, the errors of the type's rules and `unavailable`. If the deletion of a
 * token cannot be stored, this process still rejects the token: revocation must work even if the
 * disk is full.
 */
export async function deleteResource(
  dependencies: Dependencies,
  type: ResourceType,
  context: ChangeContext,
  id: string,
  revisions?: readonly string[],
): Promise<Resource> {
  const { store, clock } = dependencies;
  const { caller } = context;
  try {
    return await change(dependencies, context, async (changes) => {
      const found = await changes.getToChange(type, id);
      const resource = await existing(changes, type, caller, found);
      assertRevision(resource, revisions);
      return changes.remove(type, resource);
    });
  } catch (error) {
    if (type.collection !== token.collection || !isUnavailable(error)) throw error;
    // The transaction may have failed before it applied the rules. If the database cannot be read
    // either, this process revokes the token without applying the rules.
    try {
      const resource = await existing(store, type, caller, await store.get(type, id));
      assertRevision(resource, revisions);
      await admitChange(
        dependencies,
        context,
        type,
        { operation: 'delete', ...keyed(type, resource) },
        store,
        clock(),
      );
    } catch (refusal) {
      if (!isUnavailable(refusal))
        throw refusal instanceof ServiceError && refusal.code === 'resource_not_found'
          ? error
          : refusal;
    }
    dependencies.onTokenRevoked(id);
    throw unstoredRevocation(dependencies, error);
  }
}

function unstoredRevocation(
  { store }: Dependencies,
  { message, details }: ServiceError,
): ServiceError {
  const others = store.exclusive ? '' : ' Other processes of the service still accept the token.';
  return new ServiceError(
    'unavailable',
    `This process refuses the token until it restarts.${others} The revocation is not stored: ${message}. Delete the token again when the database can be written`,
    details,
  );
}

/** Returns the id in a path segment. Throws `invalid_uuid`. */
export function readId(type: ResourceType, segment: string): string {
  const id = normaliseUuid(segment);
  if (id === undefined)
    throw new ServiceError('invalid_uuid', {
      noun: type.noun,
      text: looksLikeToken(segment) ? '(a token)' : segment,
    });
  return id;
}

/** A computed filter that requires another right covers all projects. Throws `access_denied`. */
function viewerOf(
  policy: Policy,
  type: ResourceType,
  caller: Caller,
  computed: readonly ComputedCondition[],
): Caller {
  const rights = computed.flatMap(({ name }) => type.computedFilters?.[name]?.right ?? []);
  for (const right of rights) requireRight(policy, caller, right);
  return rights.length > 0 ? { ...caller, allProjects: true } : caller;
}

function referenceDependencies(
  { policy }: Dependencies,
  caller: Caller,
  reader: Pick<Reader, 'find'>,
): ReferenceDependencies {
  return {
    reader,
    policy,
    caller,
    isVisible: (type, resource) => isVisible(reader, type, caller, resource),
  };
}
