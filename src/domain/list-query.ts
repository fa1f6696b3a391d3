import { ServiceError } from './errors.ts';
import { isStorableText, normaliseUuid } from './field.ts';
import type { Condition, ListQuery } from './ports.ts';
import { SORT_KEYS, uniqueColumn, type ResourceType, type SortKey } from './resource.ts';
import { MAX_LIMIT } from './settings.ts';

/** One parameter of a query string, decoded, in the order received. */
export type Parameter = readonly [name: string, value: string];

/** What a list request asks for: the page, and the id after which it begins. */
export interface ListRequest extends Omit<ListQuery, 'after'> {
  readonly marker: string | undefined;
}

const PAGING = ['limit', 'marker', 'sort_key', 'sort_dir'];
/** Far beyond any pattern with a purpose, and within what every database's matcher takes. */
const MAX_PATTERN_LENGTH = 1000;
const MAX_ACCEPTED_LIMIT = 2n ** 63n - 1n;

/**
 * Reads the parameters of a list of `type`. Throws `invalid_limit`, `invalid_marker`, `invalid_sort_key`,
 * `invalid_sort_dir` or, for a filter that is unknown or given twice, `bad_request`.
 */
export function readListRequest(type: ResourceType, parameters: readonly Parameter[], defaultLimit: number): ListRequest {
  const given = (name: string) => parameters.filter(([key]) => key === name).map(([, value]) => value);
  const direction = readSortDirection(given('sort_dir'));
  return {
    limit: readLimit(given('limit'), defaultLimit),
    marker: readMarker(given('marker')),
    sortKey: readSortKey(given('sort_key')),
    descending: direction === 'desc',
    conditions: readConditions(type, parameters),
  };
}

function readLimit(values: string[], defaultLimit: number): number {
  const [value] = values;
  if (value === undefined) return defaultLimit;
  if (values.length === 1 && value.toLowerCase() === 'max') return MAX_LIMIT;
  const limit = values.length === 1 && /^[0-9]{1,19}$/.test(value) ? BigInt(value) : 0n;
  if (limit < 1n || limit > MAX_ACCEPTED_LIMIT) {
    throw new ServiceError('invalid_limit', `limit should be an integer between 1 and ${MAX_LIMIT}`);
  }
  return limit > BigInt(MAX_LIMIT) ? MAX_LIMIT : Number(limit);
}

function readMarker(values: string[]): string | undefined {
  const [value] = values;
  if (value === undefined) return undefined;
  const marker = values.length === 1 ? normaliseUuid(value) : undefined;
  if (marker === undefined) throw new ServiceError('invalid_marker', 'marker should be the id of one resource of this list');
  return marker;
}

function readSortKey(values: string[]): SortKey {
  const value = values.length > 1 ? undefined : (values[0] ?? '');
  const sortKey = value === '' ? 'created_at' : SORT_KEYS.find((key) => key === value);
  if (sortKey === undefined) throw new ServiceError('invalid_sort_key', `sort_key should be one of ${SORT_KEYS.join(', ')}`);
  return sortKey;
}

function readSortDirection(values: string[]): 'asc' | 'desc' {
  const value = values.length > 1 ? undefined : (values[0] ?? '');
  if (value === '' || value === 'asc') return 'asc';
  if (value === 'desc') return 'desc';
  throw new ServiceError('invalid_sort_dir', 'sort_dir should be asc or desc');
}

function readConditions(type: ResourceType, parameters: readonly Parameter[]): Condition[] {
  const filters = parameters.filter(([name]) => !PAGING.includes(name));
  const names = filters.map(([name]) => name);
  const unknown = names.filter((name) => !Object.hasOwn(type.filters, name));
  if (unknown.length > 0) throw new ServiceError('bad_request', `Invalid filters ${[...new Set(unknown)].join(', ')}`);
  const doubled = names.filter((name, index) => names.indexOf(name) !== index);
  if (doubled.length > 0) throw new ServiceError('bad_request', `Duplicate filters ${[...new Set(doubled)].join(', ')}`);
  return filters.map(([name, value]) => {
    if (!isStorableText(value)) throw new ServiceError('bad_request', `The filter ${name} should be text without U+0000`);
    const wildcard = value.includes('*');
    if (wildcard && value.length > MAX_PATTERN_LENGTH) {
      throw new ServiceError('bad_request', `The pattern for ${name} is longer than ${MAX_PATTERN_LENGTH} characters`);
    }
    const byUniqueForm = type.filters[name] === 'unique';
    return {
      column: byUniqueForm ? uniqueColumn(type) : name,
      value: byUniqueForm ? type.unique.comparisonForm(value) : value,
      wildcard,
    };
  });
}
