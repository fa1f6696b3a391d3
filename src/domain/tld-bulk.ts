import { readBulkRequest, refuseTogether } from './bulk-request.ts';
import type { Caller } from './caller.ts';
import type { Environment } from './collection.ts';
import { ServiceError } from './errors.ts';
import { requireRight } from './policy.ts';
import type { Clock, Writer } from './ports.ts';
import type { Reader } from './resource.ts';
import { eachInSlices, type Slicer } from './slicer.ts';
import { tld, type Tld } from './tld.ts';
import { checkEntries, planChange, type BulkOptions, type Outcome, type Plan } from './tld-bulk-plan.ts';

/** What a bulk request did, or would do. */
export interface BulkResult extends BulkOptions {
  /** In the order of the list. */
  readonly outcomes: readonly Outcome[];
  /** What was there and is not in a list that replaces everything, by name. */
  readonly removed: readonly Tld[];
}

/** How often a list is applied again because others created one of its names in between. */
const MAX_ATTEMPTS = 10;

/**
 * Brings the TLD entries in line with the list in `body`, in one transaction: creates what is not there, changes what is
 * there and given otherwise, and removes the rest if the list is to replace everything. An entry is known by its name, whose
 * spelling stays; members that are not given stay too. Works in slices. Throws `invalid_object`, in transactional mode for the
 * whole list if one entry is not good; `access_denied`; `unavailable`.
 */
export async function changeTlds(environment: Environment, caller: Caller, body: unknown, slicer: Slicer): Promise<BulkResult> {
  const { entries: list, ...options } = readBulkRequest(body);
  if (options.replace) requireRight(environment.policy, caller, 'tlds:delete');
  const { entries, refused } = await checkEntries(list, environment.settings, slicer);
  if (options.mode === 'transactional' && refused.length > 0) throw refuseTogether(refused, list.length);
  const makePlan = (reader: Reader, pace: Slicer) => planChange(reader, entries, options, environment, caller, pace);
  const { outcomes, removed } = options.dryRun ? await makePlan(environment.store, slicer) : await apply(environment, makePlan, slicer);
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
async function apply({ store, clock }: Environment, makePlan: (reader: Reader, pace: Slicer) => Promise<Plan>, slicer: Slicer): Promise<Plan> {
  const changes = store.changes(tld);
  const early = store.exclusive ? await makePlan(store, slicer) : undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await store.write(async (writer) => {
        const pace = slicer.forTransaction();
        const plan = early !== undefined && store.changes(tld) === changes ? early : await makePlan(writer, pace);
        await carryOut(plan, writer, clock, pace);
        return plan;
      });
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'duplicate')) throw error;
      if (attempt === MAX_ATTEMPTS)
        throw new ServiceError('unavailable', 'Others are changing the same entries', { retryAfterSeconds: 1, cause: error });
    }
  }
}

/** Timestamps are taken in the transaction and in the order of the list: rows become visible in the order of their timestamps. */
async function carryOut({ changes, removed }: Plan, writer: Writer, clock: Clock, slicer: Slicer): Promise<void> {
  const times = new Map<number, string>();
  await eachInSlices(slicer, Uint32Array.from(changes, ({ entry }) => entry.index).sort(), (index) => times.set(index, clock()));
  const rows: Tld[] = [];
  await eachInSlices(slicer, changes, ({ entry, id, current }) => {
    const now = times.get(entry.index) ?? clock();
    rows.push(current === undefined ? { ...entry.row, id, created_at: now, updated_at: null } : { ...current, ...entry.given, updated_at: now });
  });
  await writer.removeAll(
    tld,
    removed.map(({ id }) => id),
  );
  await writer.putAll(tld, rows);
}
