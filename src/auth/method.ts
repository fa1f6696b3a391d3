import type { Authenticate, KnownCaller } from '../domain/model/ports.ts';

/** One way of knowing callers by their tokens. */
export interface Method {
  /** Tells whether a token is this method's to judge, by its form alone. No other method gets to see it then. */
  claims(token: string): boolean;
  /** Throws `unavailable` when nothing can be said about the token now. */
  readonly authenticate: Authenticate;
  readonly known: KnownCaller;
  readonly challenge: Challenge;
  /** Lets connections go. */
  close(): void;
}

/** What 401 answers say in `WWW-Authenticate` (RFC 9110 section 11.6.1). */
export interface Challenge {
  /** To a caller who is not known. */
  readonly unknownCaller: string;
  /** To a caller who is known and lacks a right. */
  readonly missingRight: string;
}
