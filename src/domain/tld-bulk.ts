import { isDeepStrictEqual } from 'node:util';
import { readCreation } from './body.ts';
import { readBulkRequest, refuseTogether, type BulkRequest } from './bulk-request.ts';
import type { Caller } from './caller.ts';
import type { Environment } from './collection.ts';
import { ServiceError } from './errors.ts';
import { may, requireRight } from './policy.ts';
import { uniqueColumn, type DraftFields, type Reader } from './resource.ts';
import { MAX_LIMIT } from './settings.ts';
import { tld, type Tld } from './tld.ts';

/** What became of one entry of the list, by its place there. */
export type Outcome =
  | { readonly index: number; readonly outcome: 'added' | 'unchanged'; readonly row: Tld }
  /** `previous` are the members that changed, as they were. */
  | { readonly index: number; readonly outcome: 'updated'; readonly row: Tld; readonly previous: Partial<Tld> }
  | { readonly index: number; readonly outcome: 'refused'; readonly error: ServiceError };

/** How a list is applied, without the list. */
type Settled = Omit<BulkRequest, 'entries'>;

/** What a bulk request did, or would do. */
export interface BulkResult extends Settled {
  /** In the order of the list. */
  readonly outcomes: readonly Outcome[];
  /** What was there and is not in a list that replaces everything, by name. */
  readonly removed: readonly Tld[];
}

/** An entry that may be kept: its members with the defaults of absent ones, and those that were given beside the name. */
interface Entry {
  readonly index: number;
  readonly key: string;
  readonly row: DraftFields<TldFields>;
  readonly given: Partial<DraftFields<TldFields>>;
}

type TldFields = (typeof tld)['fields'];

/** How many entries are checked before others have their turn. */
const CHECKED_AT_A_TIME = 500;

/** How often a list is applied again because others created one of its names in between. */
const MAX_ATTEMPTS = 10;

/**
 * Brings the TLD entries in line with the list in `body`, in one transaction: creates what is not there, changes what is
 * there and given otherwise, and removes the rest if the list is to replace everything. An entry is known by its name, whose
 * spelling stays; members that are not given stay too. Throws `invalid_object`, in transactional mode for the whole list if
 * one entry is not good; `access_denied`; `unavailable`.
 */
export async function changeTlds(environment: Environment, caller: Caller, body: unknown): Promise<BulkResult> {
  const { entries: list, ...request } = readBulkRequest(body);
  if (request.replace) requireRight(environment.policy, caller, 'tlds:delete');
  const { entries, refused } = await checkEntries(list, environment);
  if (request.mode === 'transactional' && refused.length > 0) throw refuseTogether(refused, list.length);
  const plan = (reader: Reader) => planChange(reader, entries, request, environment, caller);
  const { outcomes, removed } = request.dryRun ? await plan(environment.store) : await apply(environment, plan);
  return { ...request, outcomes: [...outcomes, ...refused].sort((one, other) => one.index - other.index), removed };
}

type Refused = Outcome & { readonly outcome: 'refused' };

async function checkEntries(list: readonly unknown[], { settings }: Environment): Promise<{ entries: Entry[]; refused: Refused[] }> {
  const entries = new Map<string, Entry>();
  const refused: Refused[] = [];
  for (const [index, value] of list.entries()) {
    if (index % CHECKED_AT_A_TIME === CHECKED_AT_A_TIME - 1) await new Promise((resume) => setImmediate(resume));
    try {
      if (!isObject(value)) throw new ServiceError('invalid_object', `An entry must be a JSON object that describes a ${tld.title}`);
      const row = readCreation(tld, value, settings);
      const key = keyOf(row);
      const earlier = entries.get(key);
      if (earlier !== undefined) throw repeated(earlier.index);
      const given = pick(row, (name) => name !== tld.unique.field && Object.hasOwn(value, name));
      entries.set(key, { index, key, row, given });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      refused.push({ index, outcome: 'refused', error });
    }
  }
  return { entries: [...entries.values()], refused };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function repeated(index: number): ServiceError {
  const message = `Duplicate ${tld.title}: entry ${index} of the list has the same name`;
  return new ServiceError('duplicate', message, { subject: tld.noun, problems: [{ path: ['name'], message, validator: 'uniqueItems' }] });
}

type Plan = Pick<BulkResult, 'outcomes' | 'removed'>;

async function planChange(reader: Reader, entries: readonly Entry[], request: Settled, environment: Environment, caller: Caller): Promise<Plan> {
  const { clock, newId, policy } = environment;
  const keys = entries.map(({ key }) => key);
  const rows = request.replace ? await readEverything(reader) : await reader.find(tld, uniqueColumn(tld), keys);
  const existing = new Map(rows.map((row) => [keyOf(row), row]));
  const denied = may(policy, caller, 'tlds:update')
    ? undefined
    : new ServiceError('access_denied', 'Access denied: changing an entry needs tlds:update');
  const outcomes = entries.map(({ index, key, row, given }): Outcome => {
    const current = existing.get(key);
    if (current === undefined) return { index, outcome: 'added', row: { ...row, id: newId(), created_at: clock(), updated_at: null } };
    const changed = pick(given, (name) => !isDeepStrictEqual(given[name], current[name]));
    if (Object.keys(changed).length === 0) return { index, outcome: 'unchanged', row: current };
    if (denied !== undefined && request.mode === 'transactional') throw denied;
    if (denied !== undefined) return { index, outcome: 'refused', error: denied };
    const previous = pick(current, (name) => Object.hasOwn(changed, name));
    return { index, outcome: 'updated', row: { ...current, ...given, updated_at: clock() }, previous };
  });
  const wanted = new Set(keys);
  return { outcomes, removed: request.replace ? rows.filter((row) => !wanted.has(keyOf(row))) : [] };
}

/** Every entry that is kept, by name. */
async function readEverything(reader: Reader): Promise<Tld[]> {
  const rows: Tld[] = [];
  for (;;) {
    const last = rows.at(-1);
    const after = last === undefined ? {} : { after: { sortValue: last.name, id: last.id } };
    const page = await reader.list(tld, { limit: MAX_LIMIT, sortColumn: 'name', descending: false, conditions: [], ...after });
    for (const row of page) rows.push(row);
    if (page.length < MAX_LIMIT) return rows;
  }
}

/**
 * Makes a plan and carries it out in one transaction. The plan knows what is there, so no insertion fails but for a name that
 * another process of the service has created meanwhile; then everything is planned again.
 */
async function apply({ store }: Environment, plan: (reader: Reader) => Promise<Plan>): Promise<Plan> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await store.write(async (writer) => {
        const planned = await plan(writer);
        const put = planned.outcomes.flatMap((each) => (each.outcome === 'added' || each.outcome === 'updated' ? [each.row] : []));
        // In one order for all: two lists that take each other's names in turn would wait for each other.
        put.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
        await writer.removeAll(
          tld,
          planned.removed.map(({ id }) => id),
        );
        await writer.putAll(tld, put);
        return planned;
      });
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'duplicate')) throw error;
      if (attempt === MAX_ATTEMPTS)
        throw new ServiceError('unavailable', 'Others are changing the same entries', { retryAfterSeconds: 1, cause: error });
    }
  }
}

function keyOf({ name }: { readonly name: string }): string {
  return tld.unique.comparisonForm(name);
}

/** The members of an object that pass a test. */
function pick<T extends object>(object: T, passes: (name: keyof T) => boolean): Partial<T> {
  const picked: Partial<T> = {};
  for (const name of Object.keys(object) as (keyof T)[]) if (passes(name)) picked[name] = object[name];
  return picked;
}
