import type { Settings } from './settings.ts';

/** A value that a field can have in a condition. */
export type Value = string | number;

/**
 * One condition on a field, or on a look-up of the definition. `matches` takes a pattern in which `*` stands for any run of characters and
 * every other character for itself.
 */
export type Condition = ({ readonly field: string } | { readonly lookup: string }) & {
  readonly test: '=' | '<>' | '<' | '>' | 'matches';
  readonly value: Value;
};

/** One page of a list, in the order (sort field, id). Null sorts before everything else. */
export interface ListQuery {
  readonly limit: number;
  readonly sortField: string;
  readonly descending: boolean;
  readonly conditions: readonly Condition[];
  /** The resource after which the page begins: the value of its sort field, and its id. */
  readonly after?: { readonly sortValue: unknown; readonly id: string } | undefined;
}

/** A computed filter of a list, and which of its two values resources must have. */
export interface WantedAnswer {
  readonly name: string;
  readonly wanted: boolean;
}

/** One page of a list for a caller. */
export interface PageQuery extends ListQuery {
  /** Computed filters by their names, which resources must pass as well as the conditions. */
  readonly questions?: { readonly wanted: readonly WantedAnswer[]; readonly settings: Settings };
  /** Whether to count all resources that meet the conditions. */
  readonly count?: boolean;
  /** The page may end before its limit once its resources are sure to be longer than this, in bytes. It has one resource at least. */
  readonly maxBytes?: number;
}
