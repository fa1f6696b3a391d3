import { readBody } from './body.ts';
import { ServiceError } from './errors.ts';
import { normaliseUuid } from './field.ts';
import { readListRequest, type Parameter } from './list-query.ts';
import type { Clock, Store } from './ports.ts';
import type { RandomBytes, ResourceType, Row } from './resource.ts';
import type { Settings } from './settings.ts';
import { looksLikeToken } from './token.ts';

/** Everything the operations on collections need from outside. */
export interface Environment {
  readonly store: Store;
  readonly settings: Settings;
  readonly clock: Clock;
  /** A new random UUID (version 4, RFC 9562), in lower case. */
  newId(): string;
  readonly randomBytes: RandomBytes;
  /** Tells the operator about a resource that was accepted though something is odd about it. */
  advise(type: ResourceType, id: string, advice: string): void;
}

/** One page of a list. `next` is the id to continue after, when the page is full. */
export interface Page {
  readonly rows: Row[];
  readonly next: string | undefined;
}

/** A resource that is ready to be kept but for its timestamps, and the members that only its creator is shown. */
export interface NewResource {
  readonly fields: Row;
  readonly shownOnce: Row | undefined;
}

/** Makes a resource with a new id from a request body. Throws `invalid_object`. */
export function newResource(environment: Environment, type: ResourceType, body: unknown): NewResource {
  const given = readBody(type, body, true, environment.settings);
  const completed = type.complete?.(given, environment.randomBytes) ?? { fields: given };
  return { fields: { id: environment.newId(), ...completed.fields }, shownOnce: completed.shownOnce };
}

/**
 * Creates a resource from a request body and returns it, with the members that are only shown now.
 * Throws `invalid_object`, `duplicate`, `unavailable`.
 */
export async function createResource(environment: Environment, type: ResourceType, body: unknown): Promise<Row> {
  const { fields, shownOnce } = newResource(environment, type, body);
  // The timestamp is taken inside the transaction: rows become visible in the order of their created_at,
  // so that a list in that order never skips one.
  const row = await environment.store.write(async (writer) => {
    const created: Row = { ...fields, created_at: environment.clock(), updated_at: null };
    await writer.insert(type, created);
    return created;
  });
  advise(environment, type, row);
  return { ...row, ...shownOnce };
}

/**
 * The page of `type` that the parameters of a query string ask for. Throws the errors of
 * `readListRequest`, and `marker_not_found` when the marker's resource does not exist.
 */
export async function listResources(environment: Environment, type: ResourceType, parameters: readonly Parameter[]): Promise<Page> {
  const { marker, ...page } = readListRequest(type, parameters, environment.settings.defaultLimit);
  const rows = await environment.store.list(type, marker === undefined ? page : { ...page, after: await position(marker) });
  return { rows, next: rows.length === page.limit ? (rows.at(-1)?.id as string) : undefined };

  async function position(id: string) {
    const row = await environment.store.get(type, id);
    if (row === undefined) throw new ServiceError('marker_not_found', `marker ${id} is not the id of an existing ${type.title}`);
    return { sortValue: row[page.sortKey], id };
  }
}

/** The resource with this id. Throws `resource_not_found`. */
export async function getResource(environment: Environment, type: ResourceType, id: string): Promise<Row> {
  return existing(type, await environment.store.get(type, id));
}

/**
 * Changes the members that `body` gives and returns the whole resource. Throws `resource_not_found`,
 * `invalid_object`, `duplicate`, `unavailable`, in this order.
 */
export async function updateResource(environment: Environment, type: ResourceType, id: string, body: unknown): Promise<Row> {
  const row = await environment.store.write(async (writer) => {
    const current = existing(type, await writer.get(type, id));
    const given = readBody(type, body, false, environment.settings);
    const updated: Row = { ...current, ...given, updated_at: environment.clock() };
    await writer.replace(type, updated);
    return updated;
  });
  advise(environment, type, row);
  return row;
}

/** Removes the resource with this id. Throws `resource_not_found`, `unavailable`. */
export async function deleteResource(environment: Environment, type: ResourceType, id: string): Promise<void> {
  const removed = await environment.store.write((writer) => writer.remove(type, id));
  if (!removed) throw notFound(type);
}

/** The id that a path segment spells. Throws `invalid_uuid`. */
export function readId(type: ResourceType, segment: string): string {
  const id = normaliseUuid(segment);
  if (id === undefined) throw new ServiceError('invalid_uuid', `Invalid UUID ${type.noun}_id: ${looksLikeToken(segment) ? '(a token)' : segment}`);
  return id;
}

function existing(type: ResourceType, row: Row | undefined): Row {
  if (row === undefined) throw notFound(type);
  return row;
}

function notFound(type: ResourceType): ServiceError {
  return new ServiceError('resource_not_found', `Could not find ${type.title}`, { subject: type.noun });
}

function advise(environment: Environment, type: ResourceType, row: Row): void {
  for (const advice of type.advice?.(row) ?? []) environment.advise(type, row.id as string, advice);
}
