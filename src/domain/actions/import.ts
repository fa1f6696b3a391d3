import { isDeepStrictEqual } from 'node:util';
import { firstOf } from '../text/first-of.ts';
import { defineAction } from './action.ts';
import { MAX_LIST_BYTES } from './bulk-request.ts';
import { readCreation } from '../operations/body.ts';
import { change, type ChangeContext, type Dependencies } from '../operations/change.ts';
import { requireShown } from '../operations/visibility.ts';
import { invalidObject, ServiceError, type Problem } from '../model/errors.ts';
import { integer, nullable, timestamp, uuid, type Kind } from '../model/field.ts';
import {
  described,
  object,
  optional,
  responseObject,
  unparsedList,
  type ObjectOf,
} from '../model/object.ts';
import type { Reader } from '../model/ports.ts';
import {
  givenFields,
  perType,
  shownMembers,
  uniqueOf,
  type Resource,
  type ResourceType,
} from '../model/resource.ts';
import type { Settings } from '../model/settings.ts';
import { givenGrants } from '../resources/grants.ts';
import { importRight } from '../resources/resources.ts';
import type { Tsigkey } from '../resources/tsigkey.ts';
import { grantsOfKey } from '../rules/grant-rules.ts';
import { eachInSlices, type Slicer } from '../scheduling/slicer.ts';
import { keyed, uniqueFormOf, type Keyed } from '../model/query.ts';

const MAX_IMPORTED = 1000;

const RESULT = {
  imported: described(integer(0), 'The number of created resources.'),
  unchanged: described(
    integer(0),
    'The number of resources that already existed with the same members.',
  ),
};

/**
 * The number of resources that a request created, and the number that already existed with the same
 * members.
 */
export type ImportResult = ObjectOf<typeof RESULT>;

/** Defines the action that creates resources of a type with given ids and timestamps. */
export function importAction(type: ResourceType) {
  const { collection, title, fields } = type;
  const { field: unique } = uniqueOf(type);
  const example = Object.fromEntries(
    givenFields(type).map((name) => [name, fields[name]?.example]),
  );
  const resource = {
    id: '3f2a7c10-58d4-4e6b-b1a9-7c0d5e8f2a61',
    ...example,
    [unique]: `former-${String(example[unique])}`,
    created_at: '2026-01-31T12:00:00.123456',
    updated_at: null,
  };
  const resources = unparsedList(wholeResource(type), 1, MAX_IMPORTED, 'objects');
  return defineAction({
    path: `/v2/${collection}/import`,
    method: 'POST',
    right: importRight(type),
    operationId: `import_${collection}`,
    summary: `Import ${type.words.many}`,
    description: `Creates up to ${MAX_IMPORTED} resources with their ids and timestamps, in the format of responses. Creates either all resources or none. Resources that exist with the same members do not change. If a different resource has the same id or name, nothing is created.`,
    type,
    errors: ['duplicate', ...(type.refusals?.create ?? [])],
    body: {
      kind: object({
        [collection]: described(resources, 'Complete resources, in the format of responses.'),
      }),
      schemaName: `${title}Import`,
      what: collection,
      maxBytes: MAX_LIST_BYTES,
      examples: { one: { summary: 'One resource.', value: { [collection]: [resource] } } },
    },
    response: {
      kind: responseObject(RESULT),
      schemaName: 'ImportResult',
      description: 'The numbers of created and unchanged resources.',
      examples: {
        one: { summary: 'The resource was created.', value: { imported: 1, unchanged: 0 } },
      },
    },
    run({ dependencies, context, body, slicer }) {
      // The response reveals whether a secret equals the stored secret.
      requireShown(dependencies, context.caller, type);
      return importResources(dependencies, type, context, body[collection] ?? [], slicer);
    },
  });
}

/**
 * Creates resources with their ids and timestamps in one transaction. `items` are in the format of
 * responses. Resources that exist with the same members do not change, so a request can be
 * repeated. Throws `duplicate` if a different resource has the same id or name. Also throws
 * `invalid_object`, `unavailable` and the errors of the type's rules.
 */
export async function importResources(
  dependencies: Dependencies,
  type: ResourceType,
  context: ChangeContext,
  items: readonly unknown[],
  slicer: Slicer,
): Promise<ImportResult> {
  const rows = await readResources(type, items, dependencies.settings, slicer);
  return change(dependencies, { ...context, action: importRight(type) }, async (changes) => {
    const pace = slicer.forTransaction();
    changes.lockType(
      type,
      rows.map((row) => ({ operation: 'create', ...row })),
    );
    const missing = await findMissing(changes, type, rows, pace);
    for (const row of missing) {
      if (pace.isOver()) await pace.next();
      await changes.create(type, row);
    }
    return { imported: missing.length, unchanged: rows.length - missing.length };
  });
}

/**
 * Returns the rows of resources that do not exist yet. Throws `duplicate` if a different resource
 * has the id or the name of a row.
 */
async function findMissing(
  reader: Reader,
  type: ResourceType,
  rows: readonly Keyed<Resource>[],
  slicer: Slicer,
): Promise<Keyed<Resource>[]> {
  const { field } = uniqueOf(type);
  const ids = rows.map(({ resource }) => resource.id);
  const names = rows.map(({ uniqueForm }) => uniqueForm);
  const byId = new Map((await reader.find(type, 'id', ids)).map((row) => [row.id, row]));
  const byName = new Map(
    (await reader.find(type, field, names)).map((row) => [uniqueFormOf(type, row), row]),
  );
  const members = shownMembers(type);
  const conflicts: string[] = [];
  const missing: Keyed<Resource>[] = [];
  const same: (readonly [given: Resource, existing: Resource])[] = [];
  await eachInSlices(slicer, rows, (row) => {
    const { resource, uniqueForm } = row;
    const existing = byId.get(resource.id) ?? byName.get(uniqueForm);
    if (existing === undefined) missing.push(row);
    else if (!members.every((name) => isDeepStrictEqual(existing[name], resource[name])))
      conflicts.push(String(resource[field]));
    else same.push([resource, existing]);
  });
  for (const [resource, existing] of same)
    if (!(await hasGivenGrants(reader, resource, existing)))
      conflicts.push(String(resource[field]));
  if (conflicts.length > 0) throw conflict(type, conflicts);
  return missing;
}

/** Returns whether a stored key has the grants that an import states. True if it states none. */
async function hasGivenGrants(
  reader: Reader,
  resource: Resource,
  existing: Resource,
): Promise<boolean> {
  const given = givenGrants(resource);
  if (given === undefined) return true;
  const stored = await grantsOfKey(reader, existing as Tsigkey); // safe: only keys have grants
  return isDeepStrictEqual(stored, given);
}

function conflict(type: ResourceType, names: readonly string[]): ServiceError {
  const listed = firstOf(names, 10, (name) => `'${name}'`).join(', ');
  const place = `another resource has the id or name of ${listed}; nothing was imported`;
  return new ServiceError('duplicate', { type, place });
}

async function readResources(
  type: ResourceType,
  items: readonly unknown[],
  settings: Settings,
  slicer: Slicer,
): Promise<Keyed<Resource>[]> {
  const problems: Problem[] = [];
  const rows: Keyed<Resource>[] = [];
  await eachInSlices(slicer, items.entries(), ([index, item]) => {
    const read = readResource(type, item, settings);
    if (!('problems' in read)) rows.push(keyed(type, read.row));
    else
      problems.push(
        ...read.problems.map(({ path, ...problem }) => ({
          ...problem,
          path: [type.collection, index, ...path],
        })),
      );
  });
  if (problems.length > 0) throw invalidObject(type.collection, problems);
  return rows;
}

function readResource(
  type: ResourceType,
  item: unknown,
  settings: Settings,
): { row: Resource } | { problems: readonly Problem[] } {
  const parsed = wholeResource(type).parse(item);
  if ('problem' in parsed)
    return {
      problems: parsed.problems ?? [
        { path: [], message: parsed.problem, validator: parsed.validator },
      ],
    };
  const whole = parsed.value as Resource;
  const fields = Object.fromEntries(
    [...givenFields(type), ...Object.keys(type.requestOnly ?? {})].flatMap((name) =>
      name in whole ? [[name, whole[name]]] : [],
    ),
  );
  try {
    return {
      row: {
        ...readCreation(type, fields, settings),
        id: whole.id,
        created_at: whole.created_at,
        updated_at: whole.updated_at ?? null,
      },
    };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.details.problems === undefined) throw error;
    return { problems: error.details.problems };
  }
}

const ANYTHING: Kind = { schema: {}, parse: (value) => ({ value }) };

/** Returns a kind for complete resources in the format of responses. */
const wholeResource = perType((type): Kind => {
  const stamp = 'A timestamp in UTC, in the format of responses.';
  const fields = givenFields(type).flatMap((name): [string, Kind][] => {
    const field = type.fields[name];
    if (field === undefined) return [];
    const kind = described({ schema: field.schema, parse: field.parse }, field.description);
    // A service that does not know the field yet returns resources without it.
    const hasDefault = field.onCreate !== 'required' && field.onCreate.default !== undefined;
    return [[name, hasDefault ? optional(kind) : kind]];
  });
  const further = Object.entries(type.requestOnly ?? {}).map(
    ([name, { schema, parse, description }]) =>
      [name, optional(described({ schema, parse }, description))] as const,
  );
  return object<Readonly<Record<string, Kind>>>({
    id: described(uuid(), 'The id of the new resource.'),
    ...Object.fromEntries(fields),
    ...Object.fromEntries(further),
    created_at: described(timestamp(), stamp),
    updated_at: described(nullable(timestamp()), stamp),
    links: optional(described(ANYTHING, 'Accepted and ignored.')),
  });
});
