import { firstOf } from '../text/first-of.ts';
import {
  BULK_BODY,
  BULK_RESPONSE,
  MAX_ENTRIES,
  MAX_LIST_BYTES,
  type BulkRequest,
  type BulkResponse,
  type BulkResult,
} from './bulk-request.ts';
import { defineAction } from './action.ts';
import {
  change,
  type ChangeContext,
  type Changes,
  type Dependencies,
} from '../operations/change.ts';
import { ServiceError, type Problem } from '../model/errors.ts';
import { requireRight } from '../resources/policy.ts';
import type { Reader } from '../model/ports.ts';
import type { Change } from '../model/resource.ts';
import { eachInSlices, type Slicer } from '../scheduling/slicer.ts';
import { tld, type Tld } from '../resources/tld.ts';
import {
  checkEntries,
  planChange,
  type BulkOptions,
  type Outcome,
  type Plan,
  type Refused,
} from './tld-bulk-plan.ts';
import type { Keyed } from '../model/query.ts';

export const tldBulk = defineAction({
  path: '/v2/tlds/bulk',
  method: 'POST',
  right: 'tlds:create',
  operationId: 'change_tlds',
  summary: 'Change many top-level domains',
  description: `Applies a list of up to ${MAX_ENTRIES} entries, in at most ${MAX_LIST_BYTES} bytes, to the TLD entries in one transaction. The list is desired state. Entries are matched by name, ignoring case. Missing entries are created. The service does not change the case of an existing entry's name. It updates the entry's other members if the request has different values. All other entries stay, unless \`replace\` is true.

In the mode \`transactional\`, one invalid entry causes a 400 response: \`errors\` lists up to 5 problems of each entry, and nothing is changed. In the mode \`per-item\`, the response is 200 and lists the refused entries.

To update an existing entry, callers also need the right \`tlds:update\`. With \`replace\`, callers also need \`tlds:delete\`.`,
  type: tld,
  body: BULK_BODY,
  response: BULK_RESPONSE,
  async run({ dependencies, context, body, slicer, errorType }) {
    const { outcomes, removed } = await changeTlds(dependencies, context, body, slicer);
    const { mode, replace, dry_run } = body;
    return showResult({ mode, replace, dry_run }, outcomes, removed, errorType);
  },
});

/** The outcomes of a list that the service applied, or only planned in a dry run. */
export interface BulkOutcome {
  /** The outcomes in the order of the list. */
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
 * members that are not given. Divides the work into slices. In transactional mode, throws
 * `invalid_object` for the whole list if one entry is invalid. Also throws `access_denied` and
 * `unavailable`.
 */
export async function changeTlds(
  dependencies: Dependencies,
  context: ChangeContext,
  { tlds, ...options }: BulkRequest,
  slicer: Slicer,
): Promise<BulkOutcome> {
  if (options.replace) requireRight(dependencies.policy, context.caller, 'tlds:delete');
  const { entries, refused } = await checkEntries(tlds, dependencies.settings, slicer);
  if (options.mode === 'transactional' && refused.length > 0) throw listError(refused, tlds.length);
  const makePlan = (reader: Reader, pace: Slicer) =>
    planChange(reader, entries, options, dependencies, context.caller, pace);
  const { outcomes, removed } = options.dry_run
    ? await makePlan(dependencies.store, slicer)
    : await apply(dependencies, context, makePlan, slicer);
  const ordered = new Array<Outcome>(tlds.length);
  for (const each of [...outcomes, ...refused]) ordered[each.index] = each;
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
  errorType: (error: ServiceError) => string,
): BulkResponse {
  const counts = { added: 0, unchanged: 0, updated: 0, refused: 0, removed: removed.length };
  for (const { outcome } of outcomes) counts[outcome] += 1;
  const show = (each: Outcome): BulkResult => {
    const { index, outcome } = each;
    if (outcome === 'refused')
      return { index, outcome, type: errorType(each.error), message: refusalMessage(each.error) };
    const shown = {
      index,
      outcome,
      id: options.dry_run && outcome === 'added' ? null : each.id,
      name: each.name,
    };
    return each.previous === undefined ? shown : { ...shown, previous: each.previous };
  };
  return {
    ...options,
    counts,
    results: mapped(outcomes, show),
    removed: mapped(removed, ({ resource: { id, name, description } }) => ({
      id,
      name,
      description,
    })),
  };
}

function* mapped<T, U>(items: readonly T[], show: (item: T) => U): Generator<U> {
  for (const item of items) yield show(item);
}

const MAX_REPORTED = 5;

/**
 * Returns the error for a whole list of `count` entries, with up to 5 problems of each rejected
 * entry.
 */
function listError(refused: readonly Refused[], count: number): ServiceError {
  const problems: Problem[] = [];
  for (const { index, error } of refused) {
    const own = error.details.problems ?? [{ path: [], message: error.message, validator: 'type' }];
    const room = Math.min(MAX_REPORTED, MAX_ENTRIES - problems.length);
    for (const { path, message, validator } of own.slice(0, room))
      problems.push({ path: ['tlds', index, ...path], message, validator });
  }
  const entries = firstOf(
    refused,
    MAX_REPORTED,
    ({ index, error }) => `entry ${index}: ${refusalMessage(error)}`,
  );
  const message = `${refused.length} of ${count} entries are refused, and nothing was changed: ${entries.join('; ')}`;
  return new ServiceError('invalid_object', { what: 'list', messages: [message] }, { problems });
}

/** Returns why an entry was rejected: its message, or its first 5 problems. */
function refusalMessage({ message, details }: ServiceError): string {
  return details.problems === undefined
    ? message
    : firstOf(details.problems, MAX_REPORTED, (problem) => problem.message).join('; ');
}
