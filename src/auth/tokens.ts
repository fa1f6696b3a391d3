import { timingSafeEqual } from 'node:crypto';
import type { Clock, Store } from '../domain/ports.ts';
import { ADMIN, ADMIN_PROJECT, type Caller } from '../domain/caller.ts';
import { hashToken, looksLikeToken, token as tokenType } from '../domain/token.ts';
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

/** The most tokens that are remembered; beyond it all are forgotten. */
const MAX_REMEMBERED = 10_000;

/** What is kept of a token. */
interface KnownToken {
  readonly caller: Caller;
  readonly expiresAt: string | null;
}

/**
 * Knows the callers of the service's own tokens. A deleted or expired one is refused at once: a token is looked up by its
 * hash at every request, unless nothing can have changed since the last time.
 */
export function ownTokens(store: Store, clock: Clock): Method {
  const find = rememberUnchanged(store);
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

/** Finds tokens by their hash, and remembers them for as long as the store can tell that no token was changed. */
function rememberUnchanged(store: Store): (hash: string) => Promise<KnownToken | undefined> {
  const remembered = new Map<string, KnownToken>();
  let asOf = store.changes(tokenType);
  return async (hash) => {
    const changes = store.changes(tokenType);
    if (changes !== asOf || remembered.size > MAX_REMEMBERED) remembered.clear();
    asOf = changes;
    const known = remembered.get(hash) ?? (await findToken(store, hash));
    if (known !== undefined && changes !== undefined && changes === store.changes(tokenType)) remembered.set(hash, known);
    return known;
  };
}

async function findToken(store: Store, hash: string): Promise<KnownToken | undefined> {
  const [row] = await store.find(tokenType, 'hash', [hash]);
  if (row === undefined || !equalHashes(hash, row.hash as string)) return undefined;
  const { id, name, roles } = row as { id: string; name: string; roles: string[] };
  return { caller: { id, name, roles, projectId: row.project_id as string | null, allProjects: false }, expiresAt: row.expires_at as string | null };
}

function equalHashes(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
