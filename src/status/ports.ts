import type { Condition } from '../core/query.ts';

/**
 * What a key needs a person for. `failing`: a name server refused it, cannot have it or is held.
 * `expires` and `aged`: nothing replaces it yet, and its stated time or its secret is from before
 * `before`.
 */
export type KeyNeed =
  | { readonly is: 'weak' | 'published' | 'unusable' | 'orphaned' | 'failing' | 'waiting' }
  | { readonly is: 'expires' | 'aged'; readonly before: string };

export interface NamedKey {
  readonly id: string;
  readonly name: string;
}

/** Returns at most 1,000 keys that meet the conditions, in any order. Reads them from an index. */
export type KeysThat = (
  need: KeyNeed,
  conditions: readonly Condition[],
) => Promise<readonly NamedKey[]>;
