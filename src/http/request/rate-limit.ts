import { ServiceError, type About } from '../../core/errors.ts';
import { hashToken } from '../../core/token-hash.ts';
import { addressGroup } from '../connection/client-address.ts';

/** `burst` requests at once, `requestsPerSecond` on average; 0 for no limit. */
export interface RateLimit {
  readonly requestsPerSecond: number;
  readonly burst: number;
}

/** For each map of callers, addresses or tokens. The least recently used entry is dropped. */
const MAX_ENTRIES = 10_000;

interface Buckets {
  /** Takes one token. Returns 0, or the number of seconds until one is available. */
  take(key: string): number;
  putBack(key: string): void;
}

export function createBuckets(
  { requestsPerSecond, burst }: RateLimit,
  seconds: () => number,
): Buckets {
  const buckets = new Map<string, { tokens: number; filledAt: number }>();
  return {
    take(key) {
      const now = seconds();
      const bucket = buckets.get(key) ?? { tokens: burst, filledAt: now };
      const tokens = Math.min(burst, bucket.tokens + (now - bucket.filledAt) * requestsPerSecond);
      setLatest(buckets, key, { tokens: tokens < 1 ? tokens : tokens - 1, filledAt: now });
      return tokens < 1 ? (1 - tokens) / requestsPerSecond : 0;
    },
    putBack(key) {
      const bucket = buckets.get(key);
      if (bucket !== undefined) bucket.tokens = Math.min(burst, bucket.tokens + 1);
    },
  };
}

function setLatest<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_ENTRIES && oldest !== undefined) map.delete(oldest);
}

/**
 * The returned function throws `too_many_requests` with the seconds to wait if the caller's bucket
 * is empty. `seconds` is a monotonic clock.
 */
export function createRateLimiter(
  limit: RateLimit,
  seconds: () => number,
): (caller: string) => void {
  const { requestsPerSecond } = limit;
  if (requestsPerSecond === 0) return () => undefined;
  const buckets = createBuckets(limit, seconds);
  return (caller) => {
    const wait = buckets.take(caller);
    if (wait > 0) throw tooManyRequests({ perSecond: requestsPerSecond }, wait);
  };
}

/**
 * A function that ends the check of a token. `valid` is the result of the check. It is `elsewhere`
 * if the token is valid only from another address, and undefined if the check failed. Throws
 * `too_many_requests` like `beginCheck`.
 */
type EndCheck = (valid: boolean | 'elsewhere' | undefined) => void;

export interface AddressLimit {
  /** For a request without API token. Throws `too_many_requests` with the seconds to wait. */
  take(address: string): void;
  /**
   * Takes one token from the bucket of `address` for a request whose API token must be checked.
   * Call the returned function with the result of the check. If the API token is valid, that
   * function puts the bucket token back. An API token that was valid at its last check is admitted
   * even if the bucket is empty.
   */
  beginCheck(address: string, token: string): EndCheck;
}

/**
 * Creates the rate limit of each address, for requests without a valid token. IPv6 addresses of one
 * /64 count as one address. `seconds` is a monotonic clock.
 */
export function createAddressLimit(limit: RateLimit, seconds: () => number): AddressLimit {
  const { requestsPerSecond } = limit;
  if (requestsPerSecond === 0) return { take: () => undefined, beginCheck: () => () => undefined };
  const buckets = createBuckets(limit, seconds);
  const validTokens = new Map<string, true>();
  const underCheck = new Map<string, number>();

  const take = (address: string) => {
    const wait = buckets.take(addressGroup(address));
    if (wait > 0) {
      throw tooManyRequests({ perSecond: requestsPerSecond, anonymous: true }, wait);
    }
  };

  return {
    take,
    beginCheck(address, token) {
      const hash = hashToken(token);
      // Concurrent requests with the same API token together take one bucket token, for the first
      // check.
      const free = validTokens.has(hash) || underCheck.has(hash);
      if (!free) take(address);
      underCheck.set(hash, (underCheck.get(hash) ?? 0) + 1);
      return (valid) => {
        const others = (underCheck.get(hash) ?? 1) - 1;
        if (others === 0) underCheck.delete(hash);
        else underCheck.set(hash, others);
        if (valid === true) {
          setLatest(validTokens, hash, true);
          if (!free) buckets.putBack(addressGroup(address));
        } else if (valid === false) {
          validTokens.delete(hash);
        } else if (valid === 'elsewhere' && free) {
          take(address); // costs the same as an unknown token
        }
      };
    },
  };
}

function tooManyRequests(limit: About<'too_many_requests'>, seconds: number): ServiceError {
  return new ServiceError('too_many_requests', limit, { retryAfterSeconds: Math.ceil(seconds) });
}
