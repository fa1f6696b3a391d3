import { timingSafeEqual } from 'node:crypto';
import type { Clock, Store } from '../domain/model/ports.ts';
import { ADMIN, ADMIN_PROJECT, CONFIGURED_ID, type Caller } from '../domain/model/caller.ts';
import { limitsOf } from '../domain/resources/limits.ts';
import { hashToken } from '../domain/resources/token-hash.ts';
import { isGenuine, token as tokenType } from '../domain/resources/token.ts';
import { networksOf } from '../domain/text/networks.ts';
import { looksLikeToken } from '../domain/text/token-form.ts';
import { createCache } from './cache.ts';
import type { Method } from './method.ts';

/** The caller of the administrator token in the configuration. */
export const CONFIGURED_ADMIN: Caller = {
  id: CONFIGURED_ID,
  name: 'admin',
  roles: [ADMIN],
  projectId: ADMIN_PROJECT,
  allProjects: false,
};

/** The challenges of RFC 6750 section 3. */
const BEARER = { unknownCaller: 'Bearer', missingRight: 'Bearer error="insufficient_scope"' };

/** Authenticates the caller of the administrator token in the configuration. */
export function configuredToken(adminToken: string): Method {
  const adminHash = hashToken(adminToken);
  return {
    recognises: (token) => equalHashes(hashToken(token), adminHash),
    authenticate: async () => CONFIGURED_ADMIN,
    cachedCaller: () => CONFIGURED_ADMIN,
    challenge: BEARER,
    close: () => undefined,
  };
}

const MAX_CACHED_TOKENS = 10_000;

/** How long a token is cached if another process may revoke it. */
const MAX_AGE_SECONDS = 0.5;

/**
 * Authenticates callers by the service's own tokens. Refuses an expired or deleted token
 * immediately, or within 0.5 s if another process deleted the token. Also refuses tokens whose id
 * is in `refused`, and tokens that another program stored or changed, which it reports to `forged`.
 * `seconds` is a monotonic clock.
 */
export function ownTokens(
  store: Store,
  clock: Clock,
  seconds: () => number,
  refused: ReadonlySet<string> = new Set(),
  forged: (id: string) => void = () => undefined,
): Method {
  const { cached, find } = cacheUnchanged(store, seconds, forged);
  const ifValid = (caller: Caller | undefined) => {
    if (caller === undefined || refused.has(caller.id)) return undefined;
    const { expiresAt = null } = caller;
    return expiresAt !== null && expiresAt <= clock() ? undefined : caller;
  };
  return {
    recognises: looksLikeToken,
    cachedCaller: (token) => ifValid(cached(hashToken(token))),
    authenticate: async (token) => ifValid(await find(hashToken(token))),
    challenge: BEARER,
    close: () => undefined,
  };
}

/** A query in progress for a token. */
interface Search {
  /** The number of changes to tokens when the query began. */
  readonly changes: number;
  /** The time until which later requests may use the result. */
  readonly until: number;
  readonly found: Promise<Caller | undefined>;
}

/**
 * Finds tokens by their hash. Caches each token until any token changes, and for at most 0.5 s if
 * other processes may change tokens. Within these limits, concurrent requests with the same token
 * share a query. The address limit also counts them as one request.
 */
function cacheUnchanged(store: Store, seconds: () => number, forged: (id: string) => void) {
  let cache = createCache<Caller>(MAX_CACHED_TOKENS, seconds);
  let asOf = store.changes(tokenType);
  const cached = (hash: string): Caller | undefined => {
    const changes = store.changes(tokenType);
    if (changes !== asOf) cache = createCache(MAX_CACHED_TOKENS, seconds);
    asOf = changes;
    return cache.get(hash);
  };
  const searches = new Map<string, Search>();
  const search = async (hash: string, changes: number, until: number) => {
    const found = await findToken(store, hash, forged);
    if (found !== undefined && changes === store.changes(tokenType)) cache.set(hash, found, until);
    return found;
  };
  const find = async (hash: string): Promise<Caller | undefined> => {
    const caller = cached(hash);
    if (caller !== undefined) return caller;
    const running = searches.get(hash);
    if (running?.changes === asOf && seconds() < running.until) return running.found;
    const until = store.exclusive ? Infinity : seconds() + MAX_AGE_SECONDS;
    const begun: Search = { changes: asOf, until, found: search(hash, asOf, until) };
    searches.set(hash, begun);
    try {
      return await begun.found;
    } finally {
      if (searches.get(hash) === begun) searches.delete(hash);
    }
  };
  return { cached, find };
}

async function findToken(
  store: Store,
  hash: string,
  forged: (id: string) => void,
): Promise<Caller | undefined> {
  const [row] = await store.find(tokenType, 'hash', [hash]);
  if (row === undefined) return undefined;
  if (!isGenuine(row)) {
    forged(row.id);
    return undefined;
  }
  if (!equalHashes(hash, row.hash)) return undefined;
  const { id, name, roles, project_id: projectId, expires_at: expiresAt, addresses } = row;
  const limits = limitsOf(row);
  return {
    id,
    name,
    roles,
    projectId,
    expiresAt,
    allProjects: false,
    ...(limits === undefined ? {} : { limits }),
    ...(addresses === null ? {} : { addresses: networksOf(addresses) }),
  };
}

function equalHashes(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
