import { timingSafeEqual } from 'node:crypto';
import type { Authenticate, Clock, Store } from '../domain/ports.ts';
import { ADMIN, ADMIN_PROJECT, type Caller } from '../domain/caller.ts';
import { hashToken, token as tokenType } from '../domain/token.ts';

/** The caller behind the administrator token that the configuration sets. */
export const CONFIGURED_ADMIN: Caller = { id: 'configured', name: 'admin', roles: [ADMIN], projectId: ADMIN_PROJECT, allProjects: false };

/**
 * Knows the callers of the service's own tokens, and of `adminToken` where one is configured. A token is looked up
 * by its hash at every request, so a deleted or expired one is refused at once.
 */
export function authenticateTokens(store: Store, clock: Clock, adminToken: string | undefined): Authenticate {
  const adminHash = adminToken === undefined ? undefined : hashToken(adminToken);
  return async (token) => {
    const hash = hashToken(token);
    if (adminHash !== undefined && equalHashes(hash, adminHash)) return CONFIGURED_ADMIN;
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
  };
}

function equalHashes(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
