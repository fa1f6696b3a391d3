import { timingSafeEqual } from 'node:crypto';
import type { Clock, Store } from '../domain/model/ports.ts';
import { ADMIN, ADMIN_PROJECT, type Caller } from '../domain/model/caller.ts';
import { hashToken, token as tokenType } from '../domain/resources/token.ts';
import { looksLikeToken } from '../domain/model/token-form.ts';
import { createCache } from './cache.ts';
import type { Method } from './method.ts';

/** The caller behind the administrator token that the configuration sets. */
export const CONFIGURED_ADMIN: Caller = { id: 'configured', name: 'admin', roles: [ADMIN], projectId: ADMIN_PROJECT, allProjects: false };

/** RFC 6750 section 3. */
const BEARER = { unknownCaller: 'Bearer', missingRight: 'Bearer error="insufficient_scope"' };

/** Knows one caller, by the administrator token that the configuration sets. */
export function configuredToken(adminToken: string): Method {
  const adminHash = hashToken(adminToken);
  return {
    claims: (token) => equalHashes(hashToken(token), adminHash),
    authenticate: async () => CONFIGURED_ADMIN,
    known: () => CONFIGURED_ADMIN,
    challenge: BEARER,
    close: () => undefined,
  };
}

/** The most tokens that are remembered. */
const MAX_REMEMBERED = 10_000;

/** How long a token is remembered that another process may revoke. */
const MAX_AGE_SECONDS = 0.5;

/** What is kept of a token. */
interface KnownToken {
  readonly caller: Caller;
  readonly expiresAt: string | null;
}

/**
 * Knows the callers of the service's own tokens. An expired one is refused at once, and so is a deleted one, or where another
 * process deleted it within half a second. `seconds` is a clock that does not go back. Tokens whose id is in `refused` are refused too.
 */
export function ownTokens(store: Store, clock: Clock, seconds: () => number, refused: ReadonlySet<string> = new Set()): Method {
  const { cached, find } = cacheUnchanged(store, seconds);
  const callerOf = (known: KnownToken | undefined) => {
    if (known === undefined || refused.has(known.caller.id)) return undefined;
    return known.expiresAt !== null && known.expiresAt <= clock() ? undefined : known.caller;
  };
  return {
    claims: looksLikeToken,
    known: (token) => callerOf(cached(hashToken(token))),
    authenticate: async (token) => callerOf(await find(hashToken(token))),
    challenge: BEARER,
    close: () => undefined,
  };
}

/** Finds tokens by their hash, and caches them until a token is changed, or for a short time where others may change them. */
function cacheUnchanged(store: Store, seconds: () => number) {
  let cache = createCache<KnownToken>(MAX_REMEMBERED, seconds);
  let asOf = store.changes(tokenType);
  const cached = (hash: string): KnownToken | undefined => {
    const changes = store.changes(tokenType);
    if (changes !== asOf) cache = createCache(MAX_REMEMBERED, seconds);
    asOf = changes;
    return cache.get(hash);
  };
  const find = async (hash: string): Promise<KnownToken | undefined> => {
    const known = cached(hash);
    if (known !== undefined) return known;
    const changes = asOf;
    const until = store.exclusive ? Infinity : seconds() + MAX_AGE_SECONDS;
    const found = await findToken(store, hash);
    if (found !== undefined && changes === store.changes(tokenType)) cache.set(hash, found, until);
    return found;
  };
  return { cached, find };
}

async function findToken(store: Store, hash: string): Promise<KnownToken | undefined> {
  const [row] = await store.find(tokenType, 'hash', [hash]);
  if (row === undefined || !equalHashes(hash, row.hash)) return undefined;
  const { id, name, roles, project_id: projectId, expires_at: expiresAt } = row;
  return { caller: { id, name, roles, projectId, allProjects: false }, expiresAt };
}

function equalHashes(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
