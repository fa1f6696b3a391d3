import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ADMIN, ADMIN_PROJECT } from '../domain/model/caller.ts';
import type { Dependencies } from '../domain/operations/change.ts';
import { createResource } from '../domain/operations/collection.ts';
import { ServiceError } from '../domain/model/errors.ts';
import { token } from '../domain/resources/token.ts';
import { CONFIGURED_ADMIN } from './tokens.ts';

/**
 * Creates an administrator token if the database contains no token: in a new service, or after the
 * last token was revoked. Writes the token to `file` with mode 0600. Returns true if it created
 * one. It writes the file before the transaction commits, so the file of a valid token always
 * exists after a crash.
 */
export async function createFirstToken(dependencies: Dependencies, file: string): Promise<boolean> {
  if (await dependencies.store.exists(token, [])) return false;
  const body = { name: ADMIN, roles: [ADMIN], project_id: ADMIN_PROJECT };
  try {
    await createResource(dependencies, token, { caller: CONFIGURED_ADMIN }, body, (created) =>
      writePrivateFile(file, `${String(created.token)}\n`),
    );
    return true;
  } catch (error) {
    // another process has created it
    if (error instanceof ServiceError && error.code === 'duplicate') return false;
    throw error;
  }
}

/**
 * Replaces `file` atomically with a file of mode 0600, and syncs it to disk. Deletes the temporary
 * file if it fails.
 */
function writePrivateFile(file: string, content: string): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  try {
    withDescriptor(openSync(temporary, 'wx', 0o600), (descriptor) => {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  withDescriptor(openSync(folder, 'r'), fsyncSync);
}

function withDescriptor(descriptor: number, work: (descriptor: number) => void): void {
  try {
    work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
