export interface Settings {
  /** Whether to reject keys whose name is no domain name, or whose secret is not base64. */
  readonly strictTsigkeys: boolean;
  /**
   * Whether to reject keys whose `resource_id` is not an existing pool or zone, as `scope` says.
   */
  readonly requireResource: boolean;
  /** Which suffix of a zone's name must be a TLD entry: the last label, or any suffix. */
  readonly tldRule: TldRule;
  /** The maximum number of zones of a project, or 0 for no limit. */
  readonly zonesPerProject: number;
  /** Whether responses show the creation and the update of a zone as pending, as Designate does. */
  readonly pendingStatus: boolean;
  /** The number of items in a list if the caller sets no limit: 1 to `MAX_LIMIT`. */
  readonly defaultLimit: number;
  /** Whether administrators can authenticate with the configured token or through Keystone. */
  readonly otherAdministrators: boolean;
  readonly ownTokens: boolean;
  /** The maximum age in days of tokens that Keystone users create, or 0 for no limit. */
  readonly keystoneTokenDays: number;
  readonly maxPageBytes: number;
  /** How long a session of the web console lasts without use. */
  readonly sessionIdleSeconds: number;
  readonly confirmReveal: Confirmation;
  /** How long a key works beside its successor, unless the rotation states it. */
  readonly overlapSeconds: number;
  /** How long a retired key can be restored. */
  readonly graceSeconds: number;
  /** The age in days at which a secret should be replaced, or 0 for no limit. */
  readonly maxAgeDays: number;
}

export const AUTH_METHODS = ['tokens', 'keystone'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** When a session of the web console must sign in again before it gets a secret. */
export const CONFIRMATIONS = ['never', 'recent'] as const;
type Confirmation = (typeof CONFIRMATIONS)[number];

/** The maximum number of items on one page. A larger `limit` has the same effect. */
export const MAX_LIMIT = 1000;

/** The maximum size of a request with a whole list: 20,000 entries fit if each has about 100 bytes. */
export const MAX_LIST_BYTES = 2 * 1024 * 1024;

export const TLD_RULES = ['last-label', 'any-suffix'] as const;
export type TldRule = (typeof TLD_RULES)[number];

/** The sort keys of all resources that have these members. */
export const COMMON_SORT_KEYS: readonly string[] = ['created_at', 'id', 'updated_at', 'name'];

export function commonSortKeys({ fields, withoutUpdatedAt = false }: Sorted): string[] {
  const isAbsent = (key: string) =>
    (key === 'name' && !Object.hasOwn(fields, key)) || (key === 'updated_at' && withoutUpdatedAt);
  return COMMON_SORT_KEYS.filter((key) => !isAbsent(key));
}

export interface Sorted {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly withoutUpdatedAt?: boolean;
}

/** Settings under which no rule refuses a change that some settings allow. */
export const LENIENT: Settings = {
  strictTsigkeys: false,
  requireResource: false,
  tldRule: 'last-label',
  zonesPerProject: 0,
  pendingStatus: false,
  defaultLimit: MAX_LIMIT,
  otherAdministrators: true,
  ownTokens: true,
  keystoneTokenDays: 0,
  maxPageBytes: Infinity,
  sessionIdleSeconds: 1800,
  confirmReveal: 'never',
  overlapSeconds: 604_800,
  graceSeconds: 604_800,
  maxAgeDays: 0,
};
