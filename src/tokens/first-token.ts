import { ADMIN, ADMIN_PROJECT } from '../core/caller.ts';
import type { Dependencies } from '../resources/operations/change.ts';
import { createResource } from '../resources/operations/collection.ts';
import { ServiceError } from '../core/errors.ts';
import { token } from '../resources/token.ts';
import { writeSyncedFile } from '../net/synced-file.ts';
import { CONFIGURED_ADMIN } from './own-tokens.ts';

/**
 * Creates an administrator token if the database has none, as at the first start and after the last
 * token was revoked. Returns whether it did. Writes the token to `file` with mode 0600 before the
 * transaction commits. Therefore, a crash never leaves a valid token without its file. Of several
 * processes that share `file`, only the one whose token is stored writes it.
 */
export async function createFirstToken(dependencies: Dependencies, file: string): Promise<boolean> {
  if (await dependencies.store.exists(token, [])) return false;
  const body = { name: ADMIN, roles: [ADMIN], project_id: ADMIN_PROJECT };
  try {
    await createResource(
      dependencies,
      token,
      { caller: CONFIGURED_ADMIN, actorKind: 'local' },
      body,
      { publish: (created) => writeSyncedFile(file, `${String(created.token)}\n`) },
    );
    return true;
  } catch (error) {
    // Another process created the token first.
    if (error instanceof ServiceError && error.code === 'duplicate') return false;
    throw error;
  }
}
