import { ServiceError } from '../domain/errors.ts';

/** How often one caller may ask: `burst` at once, `requestsPerSecond` in the long run; 0 for no limit. */
export interface RateLimit {
  readonly requestsPerSecond: number;
  readonly burst: number;
}

/** The most callers that are remembered; the one that was longest silent is forgotten first. */
const MAX_CALLERS = 10_000;

/**
 * A token bucket for each caller. The returned function takes one token from the caller's bucket, and throws
 * `too_many_requests` with the seconds to wait when it is empty. `seconds` is a clock that does not go back.
 */
export function createRateLimiter(limit: RateLimit, seconds: () => number): (caller: string) => void {
  const { requestsPerSecond, burst } = limit;
  if (requestsPerSecond === 0) return () => undefined;
  const buckets = new Map<string, { tokens: number; filledAt: number }>();
  return (caller) => {
    const now = seconds();
    const bucket = buckets.get(caller) ?? { tokens: burst, filledAt: now };
    const tokens = Math.min(burst, bucket.tokens + (now - bucket.filledAt) * requestsPerSecond);
    buckets.delete(caller);
    buckets.set(caller, { tokens: tokens < 1 ? tokens : tokens - 1, filledAt: now });
    const [oldest] = buckets.keys();
    if (buckets.size > MAX_CALLERS && oldest !== undefined) buckets.delete(oldest);
    if (tokens < 1) {
      const retryAfterSeconds = Math.ceil((1 - tokens) / requestsPerSecond);
      throw new ServiceError('too_many_requests', `Too many requests: at most ${requestsPerSecond} a second are allowed`, { retryAfterSeconds });
    }
  };
}
