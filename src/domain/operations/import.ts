import { isDeepStrictEqual } from 'node:util';
import { readCreation } from './body.ts';
import { change, type ChangeContext, type Dependencies } from './change.ts';
import { ServiceError, type Problem } from '../model/errors.ts';
import { nullable, timestamp, uuid, type Kind } from '../model/field.ts';
import type { Reader } from '../model/ports.ts';
import { givenFields, uniqueOf, type Resource, type ResourceType } from '../model/resource.ts';
import type { Settings } from '../model/settings.ts';
import { eachInSlices, type Slicer } from '../scheduling/slicer.ts';

/** The most resources that one request may import. */
export const MAX_IMPORTED = 1000;

/** How many resources a request created, and how many existed already with the same members. */
export interface ImportResult {
  readonly imported: number;
  readonly unchanged: number;
}

/**
 * Creates the resources in a body `{"<collection>": [...]}` with their ids and timestamps, in the form in which responses show them:
 * all in one transaction or none. A resource that exists with the same members is left alone, so that a request can be repeated. Throws
 * `invalid_object`, what the type's rules refuse, `duplicate` when an id or name belongs to another resource, `unavailable`.
 */
export async function importResources(
  dependencies: Dependencies,
  type: ResourceType,
  context: ChangeContext,
  body: unknown,
  slicer: Slicer,
): Promise<ImportResult> {
  const rows = await readResources(type, body, dependencies.settings, slicer);
  return change(dependencies, context, async (changes) => {
    const pace = slicer.forTransaction();
    const missing = await findMissing(changes, type, rows, pace);
    for (const row of missing) {
      if (pace.isOver()) await pace.next();
      await changes.create(type, row);
    }
    return { imported: missing.length, unchanged: rows.length - missing.length };
  });
}

/** Those of `rows` that do not exist yet. Throws `duplicate` if the id or the name of one belongs to a resource that differs from it. */
async function findMissing(reader: Reader, type: ResourceType, rows: readonly Resource[], slicer: Slicer): Promise<Resource[]> {
  const { field, comparisonForm } = uniqueOf(type);
  const keyOf = (row: Resource) => comparisonForm(String(row[field]));
  const ids = rows.map(({ id }) => id);
  const byId = new Map((await reader.find(type, 'id', ids)).map((row) => [row.id, row]));
  const byName = new Map((await reader.find(type, field, rows.map(keyOf))).map((row) => [keyOf(row), row]));
  const conflicts: string[] = [];
  const missing: Resource[] = [];
  await eachInSlices(slicer, rows, (row) => {
    const existing = byId.get(row.id) ?? byName.get(keyOf(row));
    if (existing === undefined) missing.push(row);
    else if (!isDeepStrictEqual({ ...existing }, { ...row })) conflicts.push(String(row[field]));
  });
  if (conflicts.length > 0) throw conflict(type, conflicts);
  return missing;
}

function conflict(type: ResourceType, names: readonly string[]): ServiceError {
  const listed = names.slice(0, 10).map((name) => `'${name}'`);
  const more = names.length > listed.length ? ` and ${names.length - listed.length} more` : '';
  const place = `the id or name of ${listed.join(', ')}${more} belongs to another; nothing was imported`;
  return new ServiceError('duplicate', { type, place });
}

async function readResources(type: ResourceType, body: unknown, settings: Settings, slicer: Slicer): Promise<Resource[]> {
  const { [type.collection]: items, ...others } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (!Array.isArray(items) || items.length < 1 || items.length > MAX_IMPORTED || Object.keys(others).length > 0) {
    const message = `must be the only property: an array of 1 to ${MAX_IMPORTED} objects`;
    throw invalid(type, [{ path: [type.collection], message: `'${type.collection}' ${message}`, validator: 'type' }]);
  }
  const problems: Problem[] = [];
  const rows: Resource[] = [];
  await eachInSlices(slicer, items.entries(), ([index, item]: [number, unknown]) => {
    const read = readResource(type, item, settings);
    if (!('problems' in read)) rows.push(read.row);
    else problems.push(...read.problems.map(({ path, ...problem }) => ({ ...problem, path: [type.collection, index, ...path] })));
  });
  if (problems.length > 0) throw invalid(type, problems);
  return rows;
}

/** Reads one whole resource. `links` is accepted and ignored, because responses have it. */
function readResource(type: ResourceType, item: unknown, settings: Settings): { row: Resource } | { problems: readonly Problem[] } {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return { problems: [{ path: [], message: 'must be an object', validator: 'type' }] };
  }
  const { id, created_at, updated_at, ...members } = item as Record<string, unknown>;
  const fields = Object.fromEntries(Object.entries(members).filter(([name]) => name !== 'links'));
  const problems: Problem[] = [];
  const read = <T>(name: string, kind: Kind<T>, value: unknown): T | undefined => {
    const parsed = kind.parse(value);
    if ('value' in parsed) return parsed.value;
    problems.push({ path: [name], message: `'${name}' ${parsed.problem}`, validator: parsed.validator });
    return undefined;
  };
  const own = {
    id: read('id', uuid(), id),
    created: read('created_at', timestamp(), created_at),
    updated: read('updated_at', nullable(timestamp()), updated_at),
  };
  for (const name of givenFields(type).filter((each) => !Object.hasOwn(fields, each))) {
    problems.push({ path: [name], message: `'${name}' is a required property`, validator: 'required' });
  }
  if (own.id === undefined || own.created === undefined || own.updated === undefined || problems.length > 0) return { problems };
  try {
    return { row: { ...readCreation(type, fields, settings), id: own.id, created_at: own.created, updated_at: own.updated } };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.details.problems === undefined) throw error;
    return { problems: error.details.problems };
  }
}

function invalid(type: ResourceType, problems: readonly Problem[]): ServiceError {
  const listed = problems.slice(0, 50);
  const messages = listed.map(({ path, message }) => (typeof path[1] === 'number' ? `item ${path[1]}: ${message}` : message));
  const more = problems.length > listed.length ? [`and ${problems.length - listed.length} more`] : [];
  return new ServiceError('invalid_object', { what: type.collection, messages: [...messages, ...more] }, { problems: listed });
}
