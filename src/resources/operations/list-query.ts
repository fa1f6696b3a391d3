import { ServiceError } from '../../core/errors.ts';
import { isStorableText, normaliseUuid, parseTimestamp } from '../../core/field.ts';
import {
  type Condition,
  type ListQuery,
  type ComputedCondition,
  type TimeFilter,
  uniqueFormOfText,
} from '../../core/query.ts';
import { sortFields, uniqueOf, type ResourceType } from '../../core/resource.ts';
import { MAX_LIMIT } from '../../core/settings.ts';

/** One parameter of a query string, decoded, in the order received. */
export type Parameter = readonly [name: string, value: string];

interface ListRequest extends Omit<ListQuery, 'after'> {
  readonly marker: string | undefined;
  readonly computed: readonly ComputedCondition[];
}

interface Divided {
  readonly paging: {
    readonly limit: string[];
    readonly marker: string[];
    readonly sort_key: string[];
    readonly sort_dir: string[];
  };
  readonly filters: Parameter[];
}

/** Useful patterns are shorter, and the matcher of every database supports this length. */
const MAX_PATTERN_LENGTH = 1000;
const MAX_ACCEPTED_LIMIT = 2n ** 63n - 1n;

/**
 * Reads the parameters of a list of `type`. Throws `invalid_limit`, `invalid_marker`,
 * `invalid_sort_key`, `invalid_sort_dir` or, for an unknown or repeated filter, `bad_request`.
 */
export function readListRequest(
  type: ResourceType,
  parameters: readonly Parameter[],
  defaultLimit: number,
): ListRequest {
  const { paging, filters } = parameters.length === 0 ? NOTHING : divide(parameters);
  const direction = readSortDirection(paging.sort_dir);
  return {
    limit: readLimit(paging.limit, defaultLimit),
    marker: readMarker(paging.marker),
    sortField: readSortField(type, paging.sort_key),
    descending: direction === 'desc',
    ...(filters.length === 0 ? NO_FILTERS : readFilters(type, filters)),
  };
}

const NOTHING: Divided = {
  paging: { limit: [], marker: [], sort_key: [], sort_dir: [] },
  filters: [],
};
const NO_FILTERS: Pick<ListRequest, 'conditions' | 'computed'> = { conditions: [], computed: [] };

function divide(parameters: readonly Parameter[]): Divided {
  const divided: Divided = {
    paging: { limit: [], marker: [], sort_key: [], sort_dir: [] },
    filters: [],
  };
  for (const parameter of parameters) {
    const [name, value] = parameter;
    if (isPaging(name)) divided.paging[name].push(value);
    else divided.filters.push(parameter);
  }
  return divided;
}

function isPaging(name: string): name is keyof Divided['paging'] {
  return Object.hasOwn(NOTHING.paging, name);
}

function readLimit(values: string[], defaultLimit: number): number {
  const [value] = values;
  if (value === undefined) return defaultLimit;
  if (values.length === 1 && value.toLowerCase() === 'max') return MAX_LIMIT;
  const limit = values.length === 1 && /^[0-9]{1,19}$/.test(value) ? BigInt(value) : 0n;
  if (limit < 1n || limit > MAX_ACCEPTED_LIMIT) {
    throw new ServiceError('invalid_limit', MAX_LIMIT);
  }
  return limit > BigInt(MAX_LIMIT) ? MAX_LIMIT : Number(limit);
}

function readMarker(values: string[]): string | undefined {
  const [value] = values;
  if (value === undefined) return undefined;
  const marker = values.length === 1 ? normaliseUuid(value) : undefined;
  if (marker === undefined) throw new ServiceError('invalid_marker');
  return marker;
}

function readSortField(type: ResourceType, values: string[]): string {
  const fields = sortFields(type);
  const key = values.length > 1 ? '' : values[0] || 'created_at';
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (field === undefined) throw new ServiceError('invalid_sort_key', Object.keys(fields));
  return field;
}

function readSortDirection(values: string[]): 'asc' | 'desc' {
  const value = values.length > 1 ? undefined : (values[0] ?? '');
  if (value === '' || value === 'asc') return 'asc';
  if (value === 'desc') return 'desc';
  throw new ServiceError('invalid_sort_dir');
}

function readFilters(
  type: ResourceType,
  filters: readonly Parameter[],
): Pick<ListRequest, 'conditions' | 'computed'> {
  const counts = new Map<string, number>();
  for (const [name] of filters) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = [...counts.keys()];
  const { computedFilters = {}, timeFilters = {} } = type;
  const unknown = names.filter(
    (name) =>
      ![type.filters, computedFilters, timeFilters].some((each) => Object.hasOwn(each, name)),
  );
  if (unknown.length > 0)
    throw new ServiceError('bad_request', `Invalid filters ${unknown.join(', ')}`);
  const doubled = names.filter((name) => counts.get(name) !== 1);
  if (doubled.length > 0)
    throw new ServiceError('bad_request', `Duplicate filters ${doubled.join(', ')}`);
  const conditions: Condition[] = [];
  const computed: Parameter[] = [];
  for (const filter of filters) {
    if (Object.hasOwn(type.filters, filter[0])) conditions.push(readCondition(type, filter));
    else if (Object.hasOwn(timeFilters, filter[0]))
      conditions.push(readTimeCondition(timeFilters, filter));
    else computed.push(filter);
  }
  return { conditions, computed: computed.map(readComputedCondition) };
}

function readTimeCondition(
  timeFilters: Readonly<Record<string, TimeFilter>>,
  [name, value]: Parameter,
): Condition {
  const time = parseTimestamp(value);
  const filter = timeFilters[name];
  if (time === undefined || filter === undefined)
    throw new ServiceError(
      'bad_request',
      `The filter ${name} must be a date and time such as 2030-01-31T12:00:00`,
    );
  return filter.condition(time);
}

function readComputedCondition([name, value]: Parameter): ComputedCondition {
  if (value !== 'true' && value !== 'false')
    throw new ServiceError('bad_request', `The filter ${name} must be true or false`);
  return { name, wanted: value === 'true' };
}

function readCondition(type: ResourceType, [name, value]: Parameter): Condition {
  if (!isStorableText(value))
    throw new ServiceError('bad_request', `The filter ${name} must be text without U+0000`);
  const form = type.filters[name];
  if (form === 'integer')
    return { field: name, test: '=', value: /^\d{1,15}$/.test(value) ? Number(value) : -1 };
  const test = value.includes('*') ? 'matches' : '=';
  if (test === 'matches' && value.length > MAX_PATTERN_LENGTH) {
    throw new ServiceError(
      'bad_request',
      `The pattern for ${name} is longer than ${MAX_PATTERN_LENGTH} characters`,
    );
  }
  if (form === 'unique')
    return { lookup: uniqueOf(type).field, test, value: uniqueFormOfText(type, value) };
  if (form === 'lower') return { field: name, test, value: value.toLowerCase() };
  if (form === 'upper') return { field: name, test, value: value.toUpperCase() };
  const parsed = test === '=' ? type.fields[name]?.parse(value) : undefined;
  const stored = parsed !== undefined && 'value' in parsed ? parsed.value : undefined;
  return { field: name, test, value: typeof stored === 'string' ? stored : value };
}
