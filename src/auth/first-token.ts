import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ADMIN, ADMIN_PROJECT } from '../domain/model/caller.ts';
import type { Dependencies } from '../domain/operations/change.ts';
import { createResource } from '../domain/operations/collection.ts';
import { ServiceError } from '../domain/model/errors.ts';
import { token } from '../domain/resources/token.ts';
import { CONFIGURED_ADMIN } from './tokens.ts';

/**
 * Makes an administrator token when the database holds no token at all, so that a new service can be used and one
 * whose last token was revoked can be used again. Writes the token to `file`, readable by this user only, and
 * tells whether it did. The file is complete before the token is valid: a crash in between costs nothing.
 */
export async function makeFirstToken(dependencies: Dependencies, file: string): Promise<boolean> {
  if (await dependencies.store.exists(token, [])) return false;
  const body = { name: ADMIN, roles: [ADMIN], project_id: ADMIN_PROJECT };
  try {
    await createResource(dependencies, token, { caller: CONFIGURED_ADMIN }, body, (created) => writePrivateFile(file, `${String(created.token)}\n`));
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'duplicate') return false; // another process was faster
    throw error;
  }
}

/** Replaces `file` in one step by one that only this user can read, so that it survives a power loss. Leaves nothing behind when it fails. */
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
