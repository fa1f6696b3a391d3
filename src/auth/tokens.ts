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

/**
 * Knows the callers of the service's own tokens. A token is looked up by its hash at every request, so a deleted or
 * expired one is refused at once.
 */
export function ownTokens(store: Store, clock: Clock): Method {
  return {
    claims: looksLikeToken,
    async authenticate(token) {
      const hash = hashToken(token);
      const [row] = await store.find(tokenType, 'hash', [hash]);
      if (row === undefined || !equalHashes(hash, row.hash as string)) return undefined;
      const expiresAt = row.expires_at as string | null;
      if (expiresAt !== null && expiresAt <= clock()) return undefined;
      return {
        id: row.id as string,
        name: row.name as string,
        roles: row.roles as string[],
        projectId: row.project_id as string | null,
        allProjects: false,
      };
    },
    challenge: BEARER,
    close: () => undefined,
  };
}

function equalHashes(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
