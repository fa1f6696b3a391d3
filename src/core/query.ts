import type { Settings } from './settings.ts';

type Value = string | number;

export type Condition = FieldCondition | AnyOf;

/** One condition on a field, or on an index that the resource type defines. */
export type FieldCondition = Comparison | Membership | Absence;

/** In a pattern for `matches`, `*` matches any number of characters, and any other itself. */
export type Comparison = ({ readonly field: string } | { readonly lookup: string }) & {
  readonly test: '=' | '<>' | '<' | '>' | 'matches';
  readonly value: Value;
};

/**
 * The condition that a field has one of `values`. With `of`, a resource of another collection has
 * the value of the field in `of.is`, and one of `values` in `of.field`.
 */
export interface Membership {
  readonly field: string;
  readonly test: 'in';
  readonly values: readonly string[];
  readonly of?: { readonly collection: string; readonly field: string; readonly is: string };
}

interface Absence {
  readonly field: string;
  readonly test: 'null';
}

/** A resource must meet all conditions of an alternative. None meets an empty list. */
export interface AnyOf {
  readonly test: 'any';
  readonly alternatives: readonly (readonly FieldCondition[])[];
}

export interface TimeFilter {
  readonly description: string;
  /** The command-line flag. Its value is an age: `--unused 90d` means the time 90 days ago. */
  readonly flag: string;
  /** Returns the condition for a timestamp in the format of the API. */
  condition(time: string): Condition;
}

/** A query for one page of a list, sorted by the sort field, then by id. Null sorts first. */
export interface ListQuery {
  readonly limit: number;
  readonly sortField: string;
  readonly descending: boolean;
  readonly conditions: readonly Condition[];
  /** The last resource before the page: the value of its sort field, and its id. */
  readonly after?: { readonly sortValue: unknown; readonly id: string } | undefined;
}

export interface ComputedCondition {
  readonly name: string;
  readonly wanted: boolean;
}

export interface PageQuery extends ListQuery {
  readonly computed?: {
    readonly conditions: readonly ComputedCondition[];
    readonly settings: Settings;
  };
  readonly count?: boolean;
  /** The size in bytes above which the page may end early, with at least one resource. */
  readonly maxBytes?: number;
  /** Whether the resources may lack hidden fields. Only for a query without computed filters. */
  readonly shownOnly?: boolean;
}

/**
 * `unique` compares the comparison forms of the unique field. `lower` and `upper` ignore case,
 * because the stored values are all in lower case or all in upper case.
 */
export type FilterForm = 'exact' | 'integer' | 'unique' | 'lower' | 'upper';

export interface Unique {
  readonly field: string;
  /** Two resources that differ in this field may have the same value in `field`. */
  readonly per?: string;
  comparisonForm(value: string): string;
}

/** The comparison form of the unique field is empty for a type without one. */
export interface Keyed<T> {
  readonly resource: T;
  readonly uniqueForm: string;
}

interface MayBeUnique {
  readonly unique?: Unique;
}

/** Call it once for each change, so that the locks, the rules and the store use the same form. */
export function keyed<T extends Readonly<Record<string, unknown>>>(
  type: MayBeUnique,
  resource: T,
): Keyed<T> {
  return { resource, uniqueForm: uniqueFormOf(type, resource) };
}

export function uniqueFormOf(
  type: MayBeUnique,
  resource: Readonly<Record<string, unknown>>,
): string {
  return type.unique === undefined
    ? ''
    : uniqueFormOfText(type, String(resource[type.unique.field]));
}

/** Returns the comparison form of a text that names resources: a filter or a reference. */
export function uniqueFormOfText({ unique }: MayBeUnique, text: string): string {
  return unique === undefined ? text : unique.comparisonForm(text);
}
