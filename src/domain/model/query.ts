import type { Settings } from './settings.ts';

export type Value = string | number;

export type Condition = FieldCondition | AnyOf;

/** One condition on a field, or on an index that the resource type defines. */
export type FieldCondition = Comparison | Membership | Absence;

/**
 * A comparison with one value. In a pattern for `matches`, `*` matches any number of characters.
 * Every other character matches itself.
 */
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

export interface Absence {
  readonly field: string;
  readonly test: 'null';
}

/**
 * The condition that a resource meets all conditions of one of `alternatives`. No resource meets an
 * empty list of alternatives.
 */
export interface AnyOf {
  readonly test: 'any';
  readonly alternatives: readonly (readonly FieldCondition[])[];
}

export interface TimeFilter {
  /** The condition, in a sentence. */
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

/** A computed filter of a list, and its required value. */
export interface ComputedCondition {
  readonly name: string;
  readonly wanted: boolean;
}

export interface PageQuery extends ListQuery {
  /** Computed filters by name. Resources must match the computed filters and the conditions. */
  readonly computed?: {
    readonly conditions: readonly ComputedCondition[];
    readonly settings: Settings;
  };
  /** Whether to count all resources that meet the conditions. */
  readonly count?: boolean;
  /**
   * The size in bytes above which the page may end before its limit. The page has at least one
   * resource.
   */
  readonly maxBytes?: number;
  /** Whether the resources may lack hidden fields. Only for a query without computed filters. */
  readonly shownOnly?: boolean;
}

/**
 * How a list filter compares values: as text, as integers, or in the comparison form of the unique
 * field. `lower` and `upper` ignore case, because the stored values are all in lower case or all in
 * upper case.
 */
export type FilterForm = 'exact' | 'integer' | 'unique' | 'lower' | 'upper';

/** A field whose values must be unique among the resources of a type. */
export interface Unique {
  readonly field: string;
  /**
   * The scope of the uniqueness. Two resources that differ in this field may have the same value in
   * `field`.
   */
  readonly per?: string;
  comparisonForm(value: string): string;
}

/** A resource with the comparison form of its unique field, as `keyed` returns it. */
export interface Keyed<T> {
  readonly resource: T;
  readonly uniqueForm: string;
}

/** A resource type with or without a unique field. */
interface MayBeUnique {
  readonly unique?: Unique;
}

/**
 * Returns a resource with the comparison form of its unique field. The form is empty for a type
 * without a unique field. Call this function once for each change, so that the locks, the rules and
 * the store use the same form.
 */
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
