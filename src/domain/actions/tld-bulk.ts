import { isDeepStrictEqual } from 'node:util';
import { allPages } from '../model/pages.ts';
import type { Reader } from '../model/ports.ts';
import { uniqueFormOf } from '../model/query.ts';
import { shownFields, uniqueOf, type Change } from '../model/resource.ts';
import { change, type ChangeContext, type Dependencies } from '../operations/change.ts';
import { requireRight } from '../resources/policy.ts';
import { tld, type Tld } from '../resources/tld.ts';
import { eachInSlices, nextIfOver, type Slicer } from '../scheduling/slicer.ts';
import { defineAction } from './action.ts';
import {
  BULK_BODY,
  BULK_RESPONSE,
  MAX_ENTRIES,
  MAX_LIST_BYTES,
  type BulkRequest,
  type BulkResult,
  type RemovedTld,
} from './bulk-request.ts';
import { checkEntries, pick, type Entry } from './tld-bulk-entries.ts';

export const tldBulk = defineAction({
  path: '/v2/tlds/bulk',
  method: 'POST',
  right: 'tlds:create',
  operationId: 'change_tlds',
  summary: 'Change many top-level domains',
  description: `Applies a list of up to ${MAX_ENTRIES} entries, in at most ${MAX_LIST_BYTES} bytes, to the TLD entries in one transaction. The list is desired state. Entries are matched by name, ignoring case. Missing entries are created. The service does not change the case of an existing entry's name. It updates the entry's other members if the request has different values. All other entries stay, unless \`replace\` is true.

One invalid entry causes a 400 response: \`errors\` lists up to 5 problems of each entry, and nothing is changed. To apply the other entries, send the list again without the entries in \`errors\`.

To update an existing entry, callers also need the right \`tlds:update\`. With \`replace\`, callers also need \`tlds:delete\`.`,
  type: tld,
  body: BULK_BODY,
  response: BULK_RESPONSE,
  async run({ dependencies, context, body, slicer }) {
    const { results, removed } = await changeTlds(dependencies, context, body, slicer);
    const counts = { added: 0, unchanged: 0, updated: 0, removed: removed.length };
    for (const { outcome } of results) counts[outcome] += 1;
    const { replace, dry_run } = body;
    return { replace, dry_run, counts, results, removed: shown(removed) };
  },
});

/** What a list has done to the stored entries, or would do in a dry run. */
interface BulkOutcome {
  /** The outcomes in the order of the list. */
  readonly results: readonly BulkResult[];
  /** The stored entries that the list lacks, ordered by name. Empty unless `replace` is true. */
  readonly removed: readonly Tld[];
}

interface Comparison extends BulkOutcome {
  /** The deletions, and the other changes in the order of the names. */
  readonly changes: readonly Change<(typeof tld)['fields']>[];
}

/**
 * Applies a list to the TLD entries in one transaction. Creates missing entries, and updates
 * entries whose members differ. With `replace`, removes the entries that are not in the list.
 * Matches entries by name, ignoring case. Does not change the case of an existing entry's name, or
 * members that are not given. Throws `invalid_object` for the whole list if one entry is invalid.
 * Also throws `access_denied` and `unavailable`.
 */
export async function changeTlds(
  dependencies: Dependencies,
  context: ChangeContext,
  { tlds, replace, dry_run: isDryRun }: BulkRequest,
  slicer: Slicer,
): Promise<BulkOutcome> {
  const { store, policy, settings } = dependencies;
  const { caller } = context;
  if (replace) requireRight(policy, caller, 'tlds:delete');
  const entries = await checkEntries(tlds, settings, slicer);
  const compareIn = async (reader: Reader, pace: Slicer): Promise<Comparison> => {
    const stored = await readStored(reader, entries, replace, pace);
    const comparison = await compare(stored, entries, dependencies, pace);
    const isUpdate = comparison.results.some(({ outcome }) => outcome === 'updated');
    if (isUpdate) requireRight(policy, caller, 'tlds:update');
    return comparison;
  };
  if (isDryRun) {
    const { results, removed } = await compareIn(store, slicer);
    return { results: results.map(withoutNewId), removed };
  }
  return change(dependencies, { ...context, action: 'tlds:bulk' }, async (changes) => {
    const pace = slicer.forTransaction();
    changes.lockType(tld);
    const comparison = await compareIn(changes, pace);
    await changes.applyAll(tld, comparison.changes, pace);
    return comparison;
  });
}

/** Returns the stored entries with the names of `entries`, or for a replacement all, by name. */
async function readStored(
  reader: Reader,
  entries: readonly Entry[],
  replace: boolean,
  slicer: Slicer,
): Promise<Map<string, Tld>> {
  const stored = new Map<string, Tld>();
  const add = (rows: readonly Tld[]) => {
    for (const row of rows) stored.set(uniqueFormOf(tld, row), row);
  };
  if (!replace) {
    const names = entries.map(({ key }) => key);
    add(await reader.find(tld, uniqueOf(tld).field, names));
    return stored;
  }
  for await (const page of allPages(reader, tld, { sortField: 'name' })) {
    add(page);
    await nextIfOver(slicer);
  }
  return stored;
}

/** Compares a list, ordered by name, with the stored entries. Those that it lacks are removed. */
async function compare(
  stored: ReadonlyMap<string, Tld>,
  entries: readonly Entry[],
  { clock, newId }: Dependencies,
  slicer: Slicer,
): Promise<Comparison> {
  const lacking = new Map(stored);
  for (const { key } of entries) lacking.delete(key);
  await nextIfOver(slicer);
  const changes: Comparison['changes'][number][] = [];
  for (const [uniqueForm, resource] of lacking)
    changes.push({ operation: 'delete', resource, uniqueForm });
  await nextIfOver(slicer);
  // The timestamps ascend in the order of the list. The ids ascend with the names, so that adjacent
  // rows share pages in both indexes, which halves the time to insert them.
  const times: string[] = [];
  const ids: string[] = [];
  await eachInSlices(slicer, entries, ({ key }) => {
    times.push(clock());
    if (!stored.has(key)) ids.push(newId());
  });
  const newIds = ids.sort().values();
  const results = new Array<BulkResult>(entries.length);
  for (const { index, key: uniqueForm, row, given } of entries) {
    await nextIfOver(slicer);
    const now = times[index] ?? clock();
    const current = stored.get(uniqueForm);
    if (current === undefined) {
      const id = newIds.next().value ?? newId();
      results[index] = { index, outcome: 'added', id, name: row.name };
      const resource = { ...row, id, created_at: now, updated_at: null };
      changes.push({ operation: 'create', uniqueForm, resource });
      continue;
    }
    const { id, name } = current;
    const values: Readonly<Record<string, unknown>> = given;
    const previous = pick(
      current,
      (member) => member in values && !isDeepStrictEqual(values[member], current[member]),
    );
    if (Object.keys(previous).length === 0) {
      results[index] = { index, outcome: 'unchanged', id, name };
    } else {
      results[index] = { index, outcome: 'updated', id, name, previous };
      const resource = { ...current, ...given, updated_at: now };
      changes.push({ operation: 'update', uniqueForm, resource, current, given });
    }
  }
  return { results, removed: [...lacking.values()], changes };
}

function withoutNewId(result: BulkResult): BulkResult {
  return result.outcome === 'added' ? { ...result, id: null } : result;
}

const SHOWN_MEMBERS = ['id', ...shownFields(tld)] as (keyof RemovedTld)[];

/** Yields removed entries in the format of the response, one at a time. */
function* shown(removed: readonly Tld[]): Generator<RemovedTld> {
  for (const row of removed)
    yield Object.fromEntries(
      SHOWN_MEMBERS.map((name) => [name, row[name]]),
    ) as unknown as RemovedTld;
}
