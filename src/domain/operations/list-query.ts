import { ServiceError } from '../model/errors.ts';
import { isStorableText, normaliseUuid } from '../model/field.ts';
import type { Condition, ListQuery, WantedAnswer } from '../model/query.ts';
import { sortFields, uniqueOf, type ResourceType } from '../model/resource.ts';
import { MAX_LIMIT } from '../model/settings.ts';

/** One parameter of a query string, decoded, in the order received. */
export type Parameter = readonly [name: string, value: string];

/** What a list request asks for: the page, the id after which it begins, and the questions with the answers wanted. */
export interface ListRequest extends Omit<ListQuery, 'after'> {
  readonly marker: string | undefined;
  readonly questions: readonly WantedAnswer[];
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
    sortField: readSortField(type, given('sort_key')),
    descending: direction === 'desc',
    ...readFilters(type, parameters),
  };
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

function readFilters(type: ResourceType, parameters: readonly Parameter[]): Pick<ListRequest, 'conditions' | 'questions'> {
  const filters = parameters.filter(([name]) => !PAGING.includes(name));
  const names = filters.map(([name]) => name);
  const unknown = names.filter((name) => !Object.hasOwn(type.filters, name) && !Object.hasOwn(type.questions ?? {}, name));
  if (unknown.length > 0) throw new ServiceError('bad_request', `Invalid filters ${[...new Set(unknown)].join(', ')}`);
  const doubled = [...new Set(names)].filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (doubled.length > 0) throw new ServiceError('bad_request', `Duplicate filters ${doubled.join(', ')}`);
  return {
    conditions: filters.filter(([name]) => Object.hasOwn(type.filters, name)).map((filter) => readCondition(type, filter)),
    questions: filters.filter(([name]) => !Object.hasOwn(type.filters, name)).map(readQuestion),
  };
}

function readQuestion([name, value]: Parameter): WantedAnswer {
  if (value !== 'true' && value !== 'false') throw new ServiceError('bad_request', `The filter ${name} should be true or false`);
  return { name, wanted: value === 'true' };
}

function readCondition(type: ResourceType, [name, value]: Parameter): Condition {
  if (!isStorableText(value)) throw new ServiceError('bad_request', `The filter ${name} should be text without U+0000`);
  const form = type.filters[name];
  if (form === 'integer') return { field: name, test: '=', value: /^\d{1,15}$/.test(value) ? Number(value) : -1 };
  const test = value.includes('*') ? 'matches' : '=';
  if (test === 'matches' && value.length > MAX_PATTERN_LENGTH) {
    throw new ServiceError('bad_request', `The pattern for ${name} is longer than ${MAX_PATTERN_LENGTH} characters`);
  }
  if (form === 'unique') {
    const { field, comparisonForm } = uniqueOf(type);
    return { lookup: field, test, value: comparisonForm(value) };
  }
  const parsed = test === '=' ? type.fields[name]?.parse(value) : undefined;
  return { field: name, test, value: parsed !== undefined && 'value' in parsed ? (parsed.value as string) : value };
}
