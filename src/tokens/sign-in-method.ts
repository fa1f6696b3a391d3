import type { Authenticate, KnownCaller } from '../core/ports.ts';

export interface Method {
  /** Returns whether this method handles `token`. If so, no other method receives the token. */
  recognises(token: string): boolean;
  /** Throws `unavailable` if the token cannot be validated now. */
  readonly authenticate: Authenticate;
  readonly cachedCaller: KnownCaller;
  readonly challenge: Challenge;
  close(): void;
}

/** The values of `WWW-Authenticate` in a 401 response (RFC 9110 section 11.6.1). */
export interface Challenge {
  readonly unknownCaller: string;
  readonly missingRight: string;
}
