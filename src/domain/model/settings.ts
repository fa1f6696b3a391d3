/** What an operator may choose about the meaning of requests. */
export interface Settings {
  /** Refuse keys that no name server could use: a name that is no domain name, a secret that is not base64. */
  readonly strictTsigkeys: boolean;
  /** Refuse keys whose `resource_id` is no existing pool (scope POOL) or zone (scope ZONE). */
  readonly requireResource: boolean;
  /** Which suffix of a zone's name must be a TLD entry: its last label, or any. */
  readonly tldRule: TldRule;
  /** How many zones a project may have; 0 for any number. */
  readonly zonesPerProject: number;
  /** How many items a list holds when the caller names no limit: 1 to `MAX_LIMIT`. */
  readonly defaultLimit: number;
  /** Whether administrators have access without the service's own tokens: through the configured token or Keystone. */
  readonly otherAdministrators: boolean;
  /** How many bytes the items of one page may have. */
  readonly maxPageBytes: number;
}

/** The ways to authenticate callers: by the service's own tokens, and by those of a Keystone. */
export const AUTH_METHODS = ['tokens', 'keystone'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** The most items one page may hold; a larger `limit` means this many. */
export const MAX_LIMIT = 1000;

/** The rules of which one decides which suffix of a zone's name must be a TLD entry. */
export const TLD_RULES = ['last-label', 'any-suffix'] as const;
export type TldRule = (typeof TLD_RULES)[number];

/** The keys by which lists may be sorted, if the resources have such members. */
export const COMMON_SORT_KEYS: readonly string[] = ['created_at', 'id', 'updated_at', 'name'];

/** Returns those of the common sort keys that resources with these fields have. */
export function commonSortKeys({ fields, withoutUpdatedAt = false }: Sorted): string[] {
  const isAbsent = (key: string) =>
    (key === 'name' && !Object.hasOwn(fields, key)) || (key === 'updated_at' && withoutUpdatedAt);
  return COMMON_SORT_KEYS.filter((key) => !isAbsent(key));
}

/** What decides the common sort keys of a resource type. */
export interface Sorted {
  readonly fields: Readonly<Record<string, unknown>>;
  /** True where resources have no `updated_at`. */
  readonly withoutUpdatedAt?: boolean;
}
