import { isDeepStrictEqual } from 'node:util';
import { invalidObject, ServiceError, type Problem } from '../core/errors.ts';
import { isObject } from '../core/field.ts';
import { allPages } from '../core/pages.ts';
import type { Reader } from '../core/ports.ts';
import { uniqueFormOf } from '../core/query.ts';
import { uniqueOf, type Change, type DraftFields } from '../core/resource.ts';
import { MAX_LIST_BYTES, type Settings } from '../core/settings.ts';
import { readCreation } from '../resources/operations/body.ts';
import { change, type ChangeContext, type Dependencies } from '../resources/operations/change.ts';
import { requireRight } from '../resources/policy.ts';
import { tld, type Tld } from '../resources/tld.ts';
import { eachInSlices, nextIfOver, type Slicer } from '../core/scheduling/slicer.ts';
import { firstOf } from '../core/text/first-of.ts';
import { defineAction } from '../resources/operations/action.ts';
import {
  BULK_BODY,
  BULK_RESPONSE,
  CHANGEABLE_MEMBERS,
  MAX_ENTRIES,
  type BulkRequest,
  type BulkResponse,
  type BulkResult,
} from './bulk-request.ts';

export const tldBulk = defineAction({
  path: '/v2/tlds/bulk',
  method: 'POST',
  right: 'tlds:create',
  operationId: 'change_tlds',
  summary: 'Change many top-level domains',
  description: `Applies a list of up to ${MAX_ENTRIES} entries, in at most ${MAX_LIST_BYTES} bytes, to the TLD entries in one transaction. The list is desired state: entries are matched by name, ignoring case, missing ones are created, and others get the given members, except for the case of their names. All other entries stay, unless \`replace\` is true.

One invalid entry causes a 400 response: \`errors\` lists up to 5 problems of each entry, and nothing is changed. To apply the other entries, send the list again without the entries in \`errors\`.

To update an existing entry, callers also need the right \`tlds:update\`. With \`replace\`, callers also need \`tlds:delete\`.`,
  type: tld,
  body: BULK_BODY,
  response: BULK_RESPONSE,
  run: ({ dependencies, context, body, slicer }) => changeTlds(dependencies, context, body, slicer),
});

type TldFields = (typeof tld)['fields'];
type TldDraft = DraftFields<TldFields>;

interface Entry {
  readonly index: number;
  readonly uniqueForm: string;
  /** Every member, with defaults. */
  readonly row: TldDraft;
  /** The members in the request, except the name. */
  readonly given: Partial<TldDraft>;
}

interface Comparison extends Pick<BulkResponse, 'results' | 'removed'> {
  /** The deletions, and the other changes in the order of the names. */
  readonly changes: readonly Change<TldFields>[];
}

/**
 * Applies a list to the TLD entries in one transaction. Throws `invalid_object` for the whole list
 * if one entry is invalid. Also throws `access_denied` and `unavailable`.
 */
export async function changeTlds(
  dependencies: Dependencies,
  context: ChangeContext,
  request: BulkRequest,
  slicer: Slicer,
): Promise<BulkResponse> {
  const { store, policy, settings } = dependencies;
  const { caller } = context;
  if (request.replace) requireRight(policy, caller, 'tlds:delete');
  const entries = await readEntries(request.tlds, settings, slicer);
  const compareIn = async (reader: Reader, pace: Slicer): Promise<Comparison> => {
    const comparison = await compare(reader, entries, request, dependencies, pace);
    const isUpdate = comparison.results.some(({ outcome }) => outcome === 'updated');
    if (isUpdate) requireRight(policy, caller, 'tlds:update');
    return comparison;
  };
  const { results, removed } = request.dry_run
    ? await compareIn(store, slicer)
    : await change(dependencies, { ...context, action: 'tlds:bulk' }, async (changes) => {
        const pace = slicer.forTransaction();
        changes.lockType(tld);
        const comparison = await compareIn(changes, pace);
        await changes.applyAll(tld, comparison.changes, pace);
        return comparison;
      });
  const counts = { added: 0, unchanged: 0, updated: 0, removed: removed.length };
  for (const { outcome } of results) counts[outcome] += 1;
  return { counts, results, removed };
}

/** The maximum number of problems reported for one entry, and in the message about a list. */
const MAX_REPORTED = 5;

/** Returns the entries of a list, ordered by name. Throws `invalid_object` with their problems. */
async function readEntries(
  list: readonly unknown[],
  settings: Settings,
  slicer: Slicer,
): Promise<readonly Entry[]> {
  const entries = new Map<string, Entry>();
  const problems: Problem[] = [];
  let refusals = 0;
  await eachInSlices(slicer, list.entries(), ([index, value]) => {
    try {
      const entry = readEntry(index, value, settings);
      const earlier = entries.get(entry.uniqueForm);
      if (earlier !== undefined) throw repetitionOf(earlier.index);
      entries.set(entry.uniqueForm, entry);
    } catch (error) {
      const own = error instanceof ServiceError ? error.details.problems : undefined;
      if (own === undefined) throw error;
      refusals += 1;
      const room = Math.min(MAX_REPORTED, MAX_ENTRIES - problems.length);
      for (const problem of own.slice(0, room))
        problems.push({ ...problem, path: ['tlds', index, ...problem.path] });
    }
  });
  await nextIfOver(slicer);
  if (refusals === 0) return [...entries.keys()].sort().flatMap((key) => entries.get(key) ?? []);
  const reported = firstOf(
    problems,
    MAX_REPORTED,
    ({ path, message }) => `entry ${path[1]}: ${message}`,
  );
  const message = `${refusals} of ${list.length} entries are refused, and nothing was changed: ${reported.join('; ')}`;
  throw new ServiceError('invalid_object', { what: 'list', messages: [message] }, { problems });
}

function readEntry(index: number, value: unknown, settings: Settings): Entry {
  if (!isObject(value)) {
    const message = `An entry must be a JSON object that describes a ${tld.title}`;
    throw invalidObject('entry', [{ path: [], message, validator: 'type' }]);
  }
  const row = readCreation(tld, value, settings);
  const given = CHANGEABLE_MEMBERS.filter((name) => Object.hasOwn(value, name));
  return {
    index,
    uniqueForm: uniqueFormOf(tld, row),
    row,
    given: Object.fromEntries(given.map((name) => [name, row[name]])),
  };
}

function repetitionOf(index: number): ServiceError {
  const message = `Duplicate ${tld.title}: entry ${index} of the list has the same name`;
  return invalidObject('entry', [{ path: ['name'], message, validator: 'uniqueItems' }]);
}

/** Returns the stored entries with the names of `entries`, or for a replacement all, by name. */
async function readStored(
  reader: Reader,
  entries: readonly Entry[],
  replace: boolean,
  slicer: Slicer,
): Promise<Map<string, Tld>> {
  const stored = new Map<string, Tld>();
  const names = entries.map(({ uniqueForm }) => uniqueForm);
  const pages = replace
    ? allPages(reader, tld, { sortField: 'name' })
    : [await reader.find(tld, uniqueOf(tld).field, names)];
  for await (const page of pages) {
    for (const row of page) stored.set(uniqueFormOf(tld, row), row);
    await nextIfOver(slicer);
  }
  return stored;
}

/** Compares a list, ordered by name, with the stored entries. */
async function compare(
  reader: Reader,
  entries: readonly Entry[],
  { replace, dry_run }: BulkRequest,
  { clock, newId }: Dependencies,
  slicer: Slicer,
): Promise<Comparison> {
  const stored = await readStored(reader, entries, replace, slicer);
  const lacking = new Map(stored);
  for (const { uniqueForm } of entries) lacking.delete(uniqueForm);
  const changes: Change<TldFields>[] = [];
  const removed: BulkResponse['removed'][number][] = [];
  await eachInSlices(slicer, lacking, ([uniqueForm, resource]) => {
    changes.push({ operation: 'delete', resource, uniqueForm });
    removed.push({ id: resource.id, name: resource.name, ...changeableOf(resource) });
  });
  // The timestamps ascend in the order of the list. The ids ascend with the names, so that adjacent
  // rows share pages in both indexes, which halves the time to insert them.
  const times: string[] = [];
  const ids: string[] = [];
  await eachInSlices(slicer, entries, () => {
    times.push(clock());
    ids.push(newId());
  });
  ids.sort();
  const results = new Array<BulkResult>(entries.length);
  await eachInSlices(slicer, entries.entries(), ([place, { index, uniqueForm, row, given }]) => {
    const now = times[index] ?? clock();
    const current = stored.get(uniqueForm);
    if (current === undefined) {
      const id = ids[place] ?? newId();
      const resource = { ...row, id, created_at: now, updated_at: null };
      changes.push({ operation: 'create', uniqueForm, resource });
      results[index] = { index, outcome: 'added', id: dry_run ? null : id, name: row.name };
      return;
    }
    const { id, name } = current;
    const resource = { ...current, ...given, updated_at: now };
    if (isDeepStrictEqual(changeableOf(resource), changeableOf(current))) {
      results[index] = { index, outcome: 'unchanged', id, name };
    } else {
      changes.push({ operation: 'update', uniqueForm, resource, current, given });
      results[index] = { index, outcome: 'updated', id, name, previous: changeableOf(current) };
    }
  });
  return { results, removed, changes };
}

function changeableOf(row: Tld): Pick<Tld, (typeof CHANGEABLE_MEMBERS)[number]> {
  return Object.fromEntries(CHANGEABLE_MEMBERS.map((name) => [name, row[name]])) as Tld;
}
