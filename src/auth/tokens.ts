import { timingSafeEqual } from 'node:crypto';
import type { Clock, Store } from '../domain/ports.ts';
import { ADMIN, ADMIN_PROJECT, type Caller } from '../domain/caller.ts';
import { hashToken, looksLikeToken, token as tokenType } from '../domain/token.ts';
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
 * process deleted it within half a second. `seconds` is a clock that does not go back.
 */
export function ownTokens(store: Store, clock: Clock, seconds: () => number): Method {
  const find = rememberUnchanged(store, seconds);
  return {
    claims: looksLikeToken,
    async authenticate(token) {
      const known = await find(hashToken(token));
      if (known === undefined || (known.expiresAt !== null && known.expiresAt <= clock())) return undefined;
      return known.caller;
    },
    challenge: BEARER,
    close: () => undefined,
  };
}

/** Finds tokens by their hash, and remembers them until a token is changed, or for a short time where others may change them. */
function rememberUnchanged(store: Store, seconds: () => number): (hash: string) => Promise<KnownToken | undefined> {
  let remembered = createCache<KnownToken>(MAX_REMEMBERED, seconds);
  let asOf = store.changes(tokenType);
  return async (hash) => {
    const changes = store.changes(tokenType);
    if (changes !== asOf) remembered = createCache(MAX_REMEMBERED, seconds);
    asOf = changes;
    const known = remembered.get(hash);
    if (known !== undefined) return known;
    const until = store.exclusive ? Infinity : seconds() + MAX_AGE_SECONDS;
    const found = await findToken(store, hash);
    if (found !== undefined && changes === store.changes(tokenType)) remembered.set(hash, found, until);
    return found;
  };
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
