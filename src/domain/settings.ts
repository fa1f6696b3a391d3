/** What an operator may choose about the meaning of requests. */
export interface Settings {
  /** Refuse keys that no name server could use: a name that is no domain name, a secret that is not base64. */
  readonly strictTsigkeys: boolean;
  /** How many items a list holds when the caller names no limit: 1 to `MAX_LIMIT`. */
  readonly defaultLimit: number;
}

/** The most items one page may hold; a larger `limit` means this many. */
export const MAX_LIMIT = 1000;
