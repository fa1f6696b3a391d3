import {
  BULK_BODY,
  BULK_RESPONSE,
  MAX_ENTRIES,
  MAX_LIST_BYTES,
  type BulkRequest,
  type BulkResponse,
  type BulkResult,
  type RemovedTld,
} from './bulk-request.ts';
import { defineAction } from './action.ts';
import {
  change,
  type ChangeContext,
  type Changes,
  type Dependencies,
} from '../operations/change.ts';
import { ServiceError } from '../model/errors.ts';
import { requireRight } from '../resources/policy.ts';
import type { Reader } from '../model/ports.ts';
import { shownFields, type Change } from '../model/resource.ts';
import { eachInSlices, type Slicer } from '../scheduling/slicer.ts';
import { tld, type Tld } from '../resources/tld.ts';
import {
  checkEntries,
  planChange,
  type BulkOptions,
  type Outcome,
  type Plan,
} from './tld-bulk-plan.ts';
import type { Keyed } from '../model/query.ts';

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
    const { outcomes, removed } = await changeTlds(dependencies, context, body, slicer);
    const { replace, dry_run } = body;
    return showResult({ replace, dry_run }, outcomes, removed);
  },
});

/** The outcomes of a list that the service applied, or only planned in a dry run. */
export interface BulkOutcome {
  readonly outcomes: readonly Outcome[];
  /** The stored entries that the list lacks, ordered by name. Empty unless `replace` is true. */
  readonly removed: readonly Keyed<Tld>[];
}

type TldFields = (typeof tld)['fields'];

const BULK_ACTION = 'tlds:bulk';

/**
 * The maximum number of attempts to apply a list. An attempt fails if another process has created
 * one of the names.
 */
const MAX_ATTEMPTS = 10;

/**
 * Applies a list to the TLD entries in one transaction. Creates missing entries, and updates
 * entries whose members differ. With `replace`, removes the entries that are not in the list.
 * Matches entries by name, ignoring case. Does not change the case of an existing entry's name, or
 * members that are not given. Divides the work into slices. Throws `invalid_object` for the whole
 * list if one entry is invalid. Also throws `access_denied` and `unavailable`.
 */
export async function changeTlds(
  dependencies: Dependencies,
  context: ChangeContext,
  { tlds, ...options }: BulkRequest,
  slicer: Slicer,
): Promise<BulkOutcome> {
  if (options.replace) requireRight(dependencies.policy, context.caller, 'tlds:delete');
  const entries = await checkEntries(tlds, dependencies.settings, slicer);
  const makePlan = (reader: Reader, pace: Slicer) =>
    planChange(reader, entries, options, dependencies, context.caller, pace);
  const { outcomes, removed } = options.dry_run
    ? await makePlan(dependencies.store, slicer)
    : await apply(dependencies, context, makePlan, slicer);
  const ordered = new Array<Outcome>(tlds.length);
  for (const outcome of outcomes) ordered[outcome.index] = outcome;
  return { outcomes: ordered, removed };
}

/**
 * Carries out a plan in one transaction. Makes the plan before the transaction if no other process
 * can change the entries. The transaction then blocks other writes for a shorter time. Makes the
 * plan inside the transaction if entries changed in the meantime, or if the database is shared.
 * Repeats the whole transaction if another process has created one of the names in the meantime.
 */
async function apply(
  dependencies: Dependencies,
  context: ChangeContext,
  makePlan: (reader: Reader, pace: Slicer) => Promise<Plan>,
  slicer: Slicer,
): Promise<Plan> {
  const { store } = dependencies;
  const version = store.changes(tld);
  const early = store.exclusive ? await makePlan(store, slicer) : undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change(dependencies, { ...context, action: BULK_ACTION }, async (changes) => {
        const pace = slicer.forTransaction();
        changes.lockType(tld);
        const plan =
          early !== undefined && store.changes(tld) === version
            ? early
            : await makePlan(changes, pace);
        await carryOut(plan, changes, pace);
        return plan;
      });
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'duplicate')) throw error;
      if (attempt === MAX_ATTEMPTS)
        throw new ServiceError(
          'unavailable',
          'Other requests are changing the same entries. Repeat the request.',
          {
            retryAfterSeconds: 1,
            cause: error,
          },
        );
    }
  }
}

/** Writes the rows of a plan. The timestamps of the rows ascend in the order of the list. */
async function carryOut(plan: Plan, changes: Changes, slicer: Slicer): Promise<void> {
  const times = new Map<number, string>();
  await eachInSlices(
    slicer,
    Uint32Array.from(plan.changes, ({ entry }) => entry.index).sort(),
    (index) => times.set(index, changes.now()),
  );
  const list: Change<TldFields>[] = plan.removed.map((row) => ({ operation: 'delete', ...row }));
  await eachInSlices(slicer, plan.changes, ({ entry, id, current }) => {
    const now = times.get(entry.index) ?? changes.now();
    const { key: uniqueForm } = entry;
    if (current === undefined)
      list.push({
        operation: 'create',
        uniqueForm,
        resource: { ...entry.row, id, created_at: now, updated_at: null },
      });
    else
      list.push({
        operation: 'update',
        uniqueForm,
        resource: { ...current, ...entry.given, updated_at: now },
        current,
        given: entry.given,
      });
  });
  await changes.applyAll(tld, list, slicer);
}

/** Returns a result in the format of the response. New entries of a dry run have no id. */
function showResult(
  options: BulkOptions,
  outcomes: readonly Outcome[],
  removed: readonly Keyed<Tld>[],
): BulkResponse {
  const counts = { added: 0, unchanged: 0, updated: 0, removed: removed.length };
  for (const { outcome } of outcomes) counts[outcome] += 1;
  const show = (result: Outcome): BulkResult => {
    const isNew = options.dry_run && result.outcome === 'added';
    return isNew ? { ...result, id: null } : result;
  };
  return {
    ...options,
    counts,
    results: mapped(outcomes, show),
    removed: mapped(removed, showRemoved),
  };
}

function showRemoved({ resource }: Keyed<Tld>): RemovedTld {
  const members = ['id', ...shownFields(tld)] as (keyof RemovedTld)[];
  return Object.fromEntries(members.map((name) => [name, resource[name]])) as unknown as RemovedTld;
}

function* mapped<T, U>(items: readonly T[], show: (item: T) => U): Generator<U> {
  for (const item of items) yield show(item);
}
