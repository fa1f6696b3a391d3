import { isDeepStrictEqual } from 'node:util';
import { readCreation } from '../operations/body.ts';
import { firstOf } from '../text/first-of.ts';
import { MAX_ENTRIES, type BulkRequest } from './bulk-request.ts';
import { allPages } from '../model/pages.ts';
import type { Caller } from '../model/caller.ts';
import type { Dependencies } from '../operations/change.ts';
import { ERRORS, ServiceError, type Problem } from '../model/errors.ts';
import { isObject } from '../model/field.ts';
import { requireRight } from '../resources/policy.ts';
import type { Reader } from '../model/ports.ts';
import { uniqueOf, type DraftFields } from '../model/resource.ts';
import type { Settings } from '../model/settings.ts';
import { eachInSlices, sortInSlices, type Slicer } from '../scheduling/slicer.ts';
import { tld, type Tld } from '../resources/tld.ts';
import { uniqueFormOf, type Keyed } from '../model/query.ts';

/**
 * The outcome of one entry of a list, with the index of the entry. `previous` has the old values of
 * the changed members.
 */
export interface Outcome {
  readonly index: number;
  readonly outcome: 'added' | 'unchanged' | 'updated';
  readonly id: string;
  readonly name: string;
  readonly previous?: Partial<Tld>;
}

interface Refused {
  readonly index: number;
  readonly error: ServiceError;
}

export type BulkOptions = Omit<BulkRequest, 'tlds'>;

/**
 * A valid entry. `row` has every member, with defaults. `given` has the members in the request,
 * except the name.
 */
export interface Entry {
  readonly index: number;
  readonly key: string;
  readonly row: DraftFields<TldFields>;
  readonly given: Partial<DraftFields<TldFields>>;
}

type TldFields = (typeof tld)['fields'];

/** An entry to insert, or to replace if `current` exists. */
export interface PlannedChange {
  readonly entry: Entry;
  readonly id: string;
  readonly current: Tld | undefined;
}

export interface Plan {
  /** The outcomes, ordered by the names of the entries. */
  readonly outcomes: readonly Outcome[];
  /**
   * The rows to write, ordered by name. The order prevents deadlocks between two lists that are
   * applied at the same time.
   */
  readonly changes: readonly PlannedChange[];
  readonly removed: readonly Keyed<Tld>[];
}

/**
 * Returns the entries of a list, ordered by name. Throws `invalid_object` with the problems of all
 * invalid entries.
 */
export async function checkEntries(
  list: readonly unknown[],
  settings: Settings,
  slicer: Slicer,
): Promise<readonly Entry[]> {
  const entries = new Map<string, Entry>();
  const refused: Refused[] = [];
  await eachInSlices(slicer, list.entries(), ([index, value]) => {
    try {
      if (!isObject(value))
        throw new ServiceError(
          'invalid_object',
          `An entry must be a JSON object that describes a ${tld.title}`,
        );
      const row = readCreation(tld, value, settings);
      const key = uniqueFormOf(tld, row);
      const earlier = entries.get(key);
      if (earlier !== undefined) throw repeated(earlier.index);
      const given = pick(row, (name) => name !== uniqueOf(tld).field && Object.hasOwn(value, name));
      entries.set(key, { index, key, row, given });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      refused.push({ index, error });
    }
  });
  if (refused.length > 0) throw listError(refused, list.length);
  return sortInSlices(slicer, [...entries.values()], (one, other) =>
    compareText(one.key, other.key),
  );
}

/** The maximum number of problems reported for one entry, and in the message about a whole list. */
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

function repeated(index: number): ServiceError {
  const place = `entry ${index} of the list has the same name`;
  const problems: Problem[] = [
    {
      path: ['name'],
      message: ERRORS.duplicate.message({ type: tld, place }),
      validator: 'uniqueItems',
    },
  ];
  return new ServiceError('duplicate', { type: tld, place }, { problems });
}

/**
 * Compares `entries` with the stored entries. Throws `access_denied` if an entry would be updated
 * and the caller lacks the right to update.
 */
export async function planChange(
  reader: Reader,
  entries: readonly Entry[],
  request: BulkOptions,
  { newId, policy }: Dependencies,
  caller: Caller,
  slicer: Slicer,
): Promise<Plan> {
  const keys = entries.map(({ key }) => key);
  const rows = request.replace
    ? await readEverything(reader, slicer)
    : await reader.find(tld, uniqueOf(tld).field, keys);
  const existing = new Map<string, Tld>();
  await eachInSlices(slicer, rows, (row) => existing.set(uniqueFormOf(tld, row), row));
  // New ids ascend with the names, so adjacent rows share pages in both indexes. This order halves
  // the time to insert the rows.
  const missing: string[] = [];
  await eachInSlices(slicer, keys, (key) => existing.has(key) || missing.push(newId()));
  const newIds = (await sortInSlices(slicer, missing, compareText)).values();
  const outcomes: Outcome[] = [];
  const changes: PlannedChange[] = [];
  await eachInSlices(slicer, entries, (entry) => {
    const { index, key, row, given } = entry;
    const current = existing.get(key);
    const { id, name } = current ?? { id: newIds.next().value ?? newId(), name: row.name };
    const previous = current === undefined ? {} : membersToChange(given, current);
    if (current !== undefined && Object.keys(previous).length === 0) {
      outcomes.push({ index, outcome: 'unchanged', id, name });
    } else {
      if (current !== undefined) requireRight(policy, caller, 'tlds:update');
      outcomes.push(
        current === undefined
          ? { index, outcome: 'added', id, name }
          : { index, outcome: 'updated', id, name, previous },
      );
      changes.push({ entry, id, current });
    }
  });
  const wanted = new Set(keys);
  const removed: Keyed<Tld>[] = [];
  if (request.replace)
    for (const [uniqueForm, resource] of existing)
      if (!wanted.has(uniqueForm)) removed.push({ resource, uniqueForm });
  return { outcomes, changes, removed };
}

function membersToChange(given: Entry['given'], current: Tld): Partial<Tld> {
  const values: Readonly<Record<string, unknown>> = given;
  return pick(current, (name) => name in values && !isDeepStrictEqual(values[name], current[name]));
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Returns every stored entry, ordered by name. */
async function readEverything(reader: Reader, slicer: Slicer): Promise<Tld[]> {
  const rows: Tld[] = [];
  for await (const page of allPages(reader, tld, { sortField: 'name' })) {
    for (const row of page) rows.push(row);
    if (slicer.isOver()) await slicer.next();
  }
  return rows;
}

function pick<T extends object>(object: T, passes: (name: keyof T) => boolean): Partial<T> {
  const picked: Partial<T> = {};
  for (const name of Object.keys(object) as (keyof T)[])
    if (passes(name)) picked[name] = object[name];
  return picked;
}
