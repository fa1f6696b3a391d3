import { ERRORS, ServiceError, type Problem } from '../model/errors.ts';
import { isObject } from '../model/field.ts';
import { uniqueFormOf } from '../model/query.ts';
import { uniqueOf, type DraftFields } from '../model/resource.ts';
import type { Settings } from '../model/settings.ts';
import { readCreation } from '../operations/body.ts';
import { tld } from '../resources/tld.ts';
import { eachInSlices, nextIfOver, type Slicer } from '../scheduling/slicer.ts';
import { firstOf } from '../text/first-of.ts';
import { MAX_ENTRIES } from './bulk-request.ts';

type TldDraft = DraftFields<(typeof tld)['fields']>;

/**
 * A valid entry. `row` has every member, with defaults. `given` has the members in the request,
 * except the name.
 */
export interface Entry {
  readonly index: number;
  readonly key: string;
  readonly row: TldDraft;
  readonly given: Partial<TldDraft>;
}

interface Refused {
  readonly index: number;
  readonly error: ServiceError;
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
  await nextIfOver(slicer);
  return [...entries.keys()].sort().flatMap((key) => entries.get(key) ?? []);
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
  const message = ERRORS.duplicate.message({ type: tld, place });
  const problems: Problem[] = [{ path: ['name'], message, validator: 'uniqueItems' }];
  return new ServiceError('duplicate', { type: tld, place }, { problems });
}

export function pick<T extends object>(object: T, passes: (name: keyof T) => boolean): Partial<T> {
  const picked: Partial<T> = {};
  for (const name of Object.keys(object) as (keyof T)[])
    if (passes(name)) picked[name] = object[name];
  return picked;
}
