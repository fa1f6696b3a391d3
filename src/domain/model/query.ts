import type { Settings } from './settings.ts';

/** A value of a field in a condition. */
export type Value = string | number;

/**
 * One condition on a field or an index of the definition. In a pattern for `matches`, `*` matches
 * any characters. Every other character matches itself.
 */
export type Condition = ({ readonly field: string } | { readonly lookup: string }) & {
  readonly test: '=' | '<>' | '<' | '>' | 'matches';
  readonly value: Value;
};

/** One page of a list, sorted by (sort field, id). Null sorts first. */
export interface ListQuery {
  readonly limit: number;
  readonly sortField: string;
  readonly descending: boolean;
  readonly conditions: readonly Condition[];
  /** The resource before the page: the value of its sort field, and its id. */
  readonly after?: { readonly sortValue: unknown; readonly id: string } | undefined;
}

/** A computed filter of a list, and its required value. */
export interface ComputedCondition {
  readonly name: string;
  readonly wanted: boolean;
}

/** One page of a list for a caller. */
export interface PageQuery extends ListQuery {
  /** Computed filters by name. Resources must match these and the conditions. */
  readonly computed?: {
    readonly wanted: readonly ComputedCondition[];
    readonly settings: Settings;
  };
  /** Whether to count all resources that meet the conditions. */
  readonly count?: boolean;
  /**
   * The size in bytes above which the page may end before its limit. The page has at least one
   * resource.
   */
  readonly maxBytes?: number;
}
