import type { Clock, Store } from '../core/ports.ts';
import { ADMIN, ADMIN_PROJECT, CONFIGURED_ID, type Caller } from '../core/caller.ts';
import { limitsOf } from '../resources/limits.ts';
import { hashToken, isSameHash } from '../core/token-hash.ts';
import { isGenuine, token as tokenType } from '../resources/token.ts';
import { networksOf } from '../core/text/networks.ts';
import { looksLikeToken } from '../core/text/token-form.ts';
import { cacheUnchanged, type UnchangedRows } from './cache.ts';
import type { Method } from './sign-in-method.ts';

export const CONFIGURED_ADMIN: Caller = {
  id: CONFIGURED_ID,
  name: 'admin',
  roles: [ADMIN],
  projectId: ADMIN_PROJECT,
  allProjects: false,
};

/** The challenges of RFC 6750 section 3. */
const BEARER = { unknownCaller: 'Bearer', missingRight: 'Bearer error="insufficient_scope"' };

export function configuredToken(adminToken: string): Method {
  const adminHash = hashToken(adminToken);
  return {
    recognises: (token) => isSameHash(hashToken(token), adminHash),
    authenticate: async () => CONFIGURED_ADMIN,
    cachedCaller: () => CONFIGURED_ADMIN,
    challenge: BEARER,
    close: () => undefined,
  };
}

interface TokenDependencies {
  readonly store: Store;
  readonly clock: Clock;
  /** A monotonic clock. */
  readonly seconds: () => number;
  readonly refused?: ReadonlySet<string> | undefined;
  readonly forged?: ((id: string) => void) | undefined;
}

/**
 * Finds tokens of the service. Ignores an expired or deleted token immediately, or within 0.5 s if
 * another process deleted the token.
 */
export function validTokens(
  by: 'hash' | 'id',
  { store, clock, seconds, refused = new Set(), forged = () => undefined }: TokenDependencies,
): UnchangedRows<Caller> {
  const rows = cacheUnchanged(store, tokenType, seconds, (key) =>
    findToken(store, by, key, forged),
  );
  const ifValid = (caller: Caller | undefined) => {
    if (caller === undefined || refused.has(caller.id)) return undefined;
    const { expiresAt = null } = caller;
    return expiresAt !== null && expiresAt <= clock() ? undefined : caller;
  };
  return {
    cached: (key) => ifValid(rows.cached(key)),
    find: async (key) => ifValid(await rows.find(key)),
  };
}

export function ownTokens(dependencies: TokenDependencies): Method {
  const { cached, find } = validTokens('hash', dependencies);
  return {
    recognises: looksLikeToken,
    cachedCaller: (token) => cached(hashToken(token)),
    authenticate: async (token) => find(hashToken(token)),
    challenge: BEARER,
    close: () => undefined,
  };
}

async function findToken(
  store: Store,
  by: 'hash' | 'id',
  key: string,
  forged: (id: string) => void,
): Promise<Caller | undefined> {
  const [row] = await store.find(tokenType, by, [key]);
  if (row === undefined) return undefined;
  if (!isGenuine(row)) {
    forged(row.id);
    return undefined;
  }
  if (by === 'hash' && !isSameHash(key, row.hash)) return undefined;
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
