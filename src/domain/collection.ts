import { readChanges, readCreation } from './body.ts';
import type { Caller } from './caller.ts';
import { ServiceError } from './errors.ts';
import { normaliseUuid } from './field.ts';
import { readListRequest, type ListRequest, type Parameter } from './list-query.ts';
import { may, requireRight, type Policy } from './policy.ts';
import type { Clock, Store } from './ports.ts';
import type { Admission, Admitted, Change, Condition, Reader, ResourceType, Row } from './resource.ts';
import type { Settings } from './settings.ts';
import { looksLikeToken } from './token-form.ts';

/** Everything the operations on collections need from outside. */
export interface Environment {
  readonly store: Store;
  readonly settings: Settings;
  readonly policy: Policy;
  readonly clock: Clock;
  /** A new random UUID (version 4, RFC 9562), in lower case. */
  newId(): string;
  /** `size` octets from the system's random source. */
  randomBytes(size: number): Buffer;
  /** Makes this process refuse the token with this id until it ends. */
  refuseToken(id: string): void;
  /** Tells the operator about a resource that was accepted though something is odd about it. */
  advise(type: ResourceType, id: string, advice: string): void;
}

/** One page of a list. `next` is the id to continue after, when the page is full. */
export interface Page {
  readonly rows: Row[];
  readonly next: string | undefined;
}

/**
 * Creates a resource from a request body and returns it, with the members that are only shown now. `beforeCommit` sees it
 * while it can still be undone. Throws `invalid_object`, what the type's rules refuse, `duplicate`, `unavailable`.
 */
export async function createResource(
  environment: Environment,
  type: ResourceType,
  caller: Caller,
  body: unknown,
  beforeCommit: (created: Row) => void = () => undefined,
): Promise<Row> {
  const given = readCreation(type, body, environment.settings);
  const id = environment.newId();
  // The timestamp is taken inside the transaction: rows become visible in the order of their created_at,
  // so that a list in that order never skips one.
  const created = await environment.store.write(async (writer) => {
    const now = environment.clock();
    const change: Change = { operation: 'create', row: { ...given, id, created_at: now, updated_at: null } };
    const { row, shownOnce }: Admitted = (await type.admit?.(change, writer, admission(environment, caller, now))) ?? change;
    await writer.insert(type, row);
    beforeCommit({ ...row, ...shownOnce });
    return { row, shownOnce };
  });
  advise(environment, type, created.row);
  return { ...created.row, ...created.shownOnce };
}

/**
 * The page of `type` that the parameters of a query string ask for, out of what the caller may see. Throws the errors
 * of `readListRequest`, `access_denied`, and `marker_not_found` when the marker's resource does not exist.
 */
export async function listResources(environment: Environment, type: ResourceType, caller: Caller, parameters: readonly Parameter[]): Promise<Page> {
  const request = readListRequest(type, parameters, environment.settings.defaultLimit);
  const { marker, limit, sortColumn, descending } = request;
  const viewer = viewerOf(environment, type, caller, request);
  const conditions = listConditions(type, viewer, request);
  let after = marker === undefined ? undefined : positionOf(await markerRow(marker));
  const rows: Row[] = [];
  while (rows.length < limit) {
    const wanted = request.questions.length === 0 ? limit : SCAN_SIZE;
    const found = await environment.store.list(type, {
      limit: wanted,
      sortColumn,
      descending,
      conditions,
      ...(after === undefined ? {} : { after }),
    });
    rows.push(...(await answering(found)).slice(0, limit - rows.length));
    const last = found.at(-1);
    if (found.length < wanted || last === undefined) break;
    after = positionOf(last);
    await new Promise((resume) => setImmediate(resume)); // a long scan lets other requests in
  }
  return { rows, next: rows.length === limit ? rows.at(-1)?.id : undefined };

  function positionOf(row: Row) {
    return { sortValue: row[sortColumn], id: row.id };
  }

  async function markerRow(id: string): Promise<Row> {
    const row = await environment.store.get(type, id);
    if (row === undefined || !isVisible(type, viewer, row)) {
      throw new ServiceError('marker_not_found', `marker ${id} is not the id of an existing ${type.title}`);
    }
    return row;
  }

  async function answering(candidates: Row[]): Promise<Row[]> {
    let rows = candidates;
    for (const { name, wanted } of request.questions) {
      const answers = (await type.questions?.[name]?.ask(rows, environment.store, environment.settings)) ?? [];
      rows = rows.filter((_, index) => answers[index] === wanted);
    }
    return rows;
  }
}

/** How many resources a page of the same list would hold if it had no limit; undefined where only a scan could tell. Throws like `listResources`. */
export async function countResources(
  environment: Environment,
  type: ResourceType,
  caller: Caller,
  parameters: readonly Parameter[],
): Promise<number | undefined> {
  const request = readListRequest(type, parameters, environment.settings.defaultLimit);
  if (request.questions.length > 0) return undefined;
  return environment.store.count(type, listConditions(type, caller, request));
}

/** The resource with this id. Throws `resource_not_found`, also for one of another project. */
export async function getResource(environment: Environment, type: ResourceType, caller: Caller, id: string): Promise<Row> {
  return existing(type, caller, await environment.store.get(type, id));
}

/**
 * Changes the members that `body` gives and returns the whole resource. Throws `resource_not_found`,
 * `invalid_object`, what the type's rules refuse, `duplicate`, `unavailable`, in this order.
 */
export async function updateResource(environment: Environment, type: ResourceType, caller: Caller, id: string, body: unknown): Promise<Row> {
  const row = await environment.store.write(async (writer) => {
    const current = existing(type, caller, await writer.get(type, id));
    const given = readChanges(type, body, environment.settings, current);
    const now = environment.clock();
    const change: Change = { operation: 'update', row: { ...current, ...given, updated_at: now }, current, given };
    const { row: updated } = (await type.admit?.(change, writer, admission(environment, caller, now))) ?? change;
    await writer.replace(type, updated);
    return updated;
  });
  advise(environment, type, row);
  return row;
}

/**
 * Removes the resource with this id and returns it. Throws `resource_not_found`, what the type's rules refuse, `unavailable`. If the removal
 * of a token cannot be stored, this process still refuses the token, because a revocation must not wait for a full disk.
 */
export async function deleteResource(environment: Environment, type: ResourceType, caller: Caller, id: string): Promise<Row> {
  const admit = async (reader: Reader): Promise<Row> => {
    const change: Change = { operation: 'delete', row: existing(type, caller, await reader.get(type, id)) };
    return ((await type.admit?.(change, reader, admission(environment, caller, environment.clock()))) ?? change).row;
  };
  try {
    return await environment.store.write(async (writer) => {
      const row = await admit(writer);
      await writer.remove(type, id);
      return row;
    });
  } catch (error) {
    if (type.identifiesCaller !== true || !isUnavailable(error)) throw error;
    // The rules may not have been applied yet. If the database cannot be read either, the revocation takes precedence.
    await admit(environment.store).catch((refusal: unknown) => {
      if (isUnavailable(refusal)) return;
      throw refusal instanceof ServiceError && refusal.code === 'resource_not_found' ? error : refusal;
    });
    environment.refuseToken(id);
    throw unstoredRevocation(environment, error);
  }
}

function isUnavailable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'unavailable';
}

function unstoredRevocation({ store }: Environment, { message, details }: ServiceError): ServiceError {
  const others = store.exclusive ? '' : ' Other processes of the service still accept it.';
  return new ServiceError(
    'unavailable',
    `This process refuses the token until it restarts.${others} The revocation is not stored: ${message}. Repeat the request when the database can be written`,
    details,
  );
}

/** The id that a path segment spells. Throws `invalid_uuid`. */
export function readId(type: ResourceType, segment: string): string {
  const id = normaliseUuid(segment);
  if (id === undefined) throw new ServiceError('invalid_uuid', `Invalid UUID ${type.noun}_id: ${looksLikeToken(segment) ? '(a token)' : segment}`);
  return id;
}

/** How many rows are asked about at a time when a filter is a question. */
const SCAN_SIZE = 1000;

/** Who looks at a list: a question with a right of its own is about the resources of all projects. Throws `access_denied`. */
function viewerOf({ policy }: Environment, type: ResourceType, caller: Caller, request: ListRequest): Caller {
  const rights = request.questions.flatMap(({ name }) => type.questions?.[name]?.right ?? []);
  for (const right of rights) requireRight(policy, caller, right);
  return rights.length > 0 ? { ...caller, allProjects: true } : caller;
}

/** Lists of owned resources show those of the viewer's project. */
function listConditions(type: ResourceType, viewer: Caller, request: ListRequest): Condition[] {
  if (type.owner === undefined || viewer.allProjects) return [...request.conditions];
  return [...request.conditions, { column: type.owner, test: '=', value: viewer.projectId ?? '' }];
}

function isVisible(type: ResourceType, caller: Caller, row: Row): boolean {
  return type.owner === undefined || caller.allProjects || row[type.owner] === caller.projectId;
}

function existing(type: ResourceType, caller: Caller, row: Row | undefined): Row {
  if (row === undefined || !isVisible(type, caller, row)) {
    throw new ServiceError('resource_not_found', `Could not find ${type.title}`, { subject: type.noun });
  }
  return row;
}

/** What the rules about a change that `caller` makes now may use. */
export function admission({ settings, policy, randomBytes }: Environment, caller: Caller, now: string): Admission {
  return { caller, settings, randomBytes, now, may: (right) => may(policy, caller, right) };
}

/** Tells the operator what is odd about a resource that was accepted. */
export function advise(environment: Environment, type: ResourceType, row: Row): void {
  for (const advice of type.advice?.(row) ?? []) environment.advise(type, row.id, advice);
}
