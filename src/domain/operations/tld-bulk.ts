import { readBulkRequest, refuseTogether } from './bulk-request.ts';
import { change, type ChangeContext, type Changes, type Dependencies } from './change.ts';
import { ServiceError } from '../model/errors.ts';
import { requireRight } from '../resources/policy.ts';
import type { Reader } from '../model/ports.ts';
import type { Change } from '../model/resource.ts';
import { eachInSlices, type Slicer } from '../scheduling/slicer.ts';
import { tld, type Tld } from '../resources/tld.ts';
import { checkEntries, planChange, type BulkOptions, type Outcome, type Plan } from './tld-bulk-plan.ts';

/** What a bulk request did, or would do. */
export interface BulkResult extends BulkOptions {
  /** In the order of the list. */
  readonly outcomes: readonly Outcome[];
  /** What was there and is not in a list that replaces everything, by name. */
  readonly removed: readonly Tld[];
}

type TldFields = (typeof tld)['fields'];

/** How often a list is applied again because others created one of its names in between. */
const MAX_ATTEMPTS = 10;

/**
 * Brings the TLD entries in line with the list in `body`, in one transaction: creates what is not there, changes what is
 * there and given otherwise, and removes the rest if the list is to replace everything. An entry is known by its name, whose
 * spelling stays; members that are not given stay too. Works in slices. Throws `invalid_object`, in transactional mode for the
 * whole list if one entry is not good; `access_denied`; `unavailable`.
 */
export async function changeTlds(dependencies: Dependencies, context: ChangeContext, body: unknown, slicer: Slicer): Promise<BulkResult> {
  const { entries: list, ...options } = readBulkRequest(body);
  if (options.replace) requireRight(dependencies.policy, context.caller, 'tlds:delete');
  const { entries, refused } = await checkEntries(list, dependencies.settings, slicer);
  if (options.mode === 'transactional' && refused.length > 0) throw refuseTogether(refused, list.length);
  const makePlan = (reader: Reader, pace: Slicer) => planChange(reader, entries, options, dependencies, context.caller, pace);
  const { outcomes, removed } = options.dryRun ? await makePlan(dependencies.store, slicer) : await apply(dependencies, context, makePlan, slicer);
  const ordered = new Array<Outcome>(list.length);
  for (const each of [...outcomes, ...refused]) ordered[each.index] = each;
  return { ...options, outcomes: ordered, removed };
}

/**
 * Carries out a plan in one transaction. Where no other process can change the entries, the plan is made before the transaction,
 * which then holds other writes up for as long as the writing takes. If entries were changed meanwhile, and on a shared database,
 * the transaction makes the plan. No insertion fails then but for a name that another process has created
 * meanwhile; in that case the whole transaction is repeated.
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
      return await change(dependencies, context, async (changes) => {
        const pace = slicer.forTransaction();
        const plan = early !== undefined && store.changes(tld) === version ? early : await makePlan(changes, pace);
        await carryOut(plan, changes, pace);
        return plan;
      });
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'duplicate')) throw error;
      if (attempt === MAX_ATTEMPTS)
        throw new ServiceError('unavailable', 'Others are changing the same entries', { retryAfterSeconds: 1, cause: error });
    }
  }
}

/** Takes the timestamps in the transaction, and in the order of the list. */
async function carryOut(plan: Plan, changes: Changes, slicer: Slicer): Promise<void> {
  const times = new Map<number, string>();
  await eachInSlices(slicer, Uint32Array.from(plan.changes, ({ entry }) => entry.index).sort(), (index) => times.set(index, changes.now()));
  const list: Change<TldFields>[] = plan.removed.map((resource) => ({ operation: 'delete', resource }));
  await eachInSlices(slicer, plan.changes, ({ entry, id, current }) => {
    const now = times.get(entry.index) ?? changes.now();
    if (current === undefined) list.push({ operation: 'create', resource: { ...entry.row, id, created_at: now, updated_at: null } });
    else list.push({ operation: 'update', resource: { ...current, ...entry.given, updated_at: now }, current, given: entry.given });
  });
  await changes.applyAll(tld, list, slicer);
}
