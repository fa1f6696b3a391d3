import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { newResource, type Environment } from '../domain/collection.ts';
import { ADMIN } from '../domain/policy.ts';
import { token } from '../domain/token.ts';

/**
 * Makes an administrator token when the database holds no token at all, so that a new service can be used and one
 * whose last token was revoked can be used again. Writes the token to `file`, readable by this user only, and
 * tells whether it did. The file is complete before the token is valid: a crash in between costs nothing.
 */
export function makeFirstToken(environment: Environment, file: string): Promise<boolean> {
  return environment.store.write(async (writer) => {
    if ((await writer.count(token)) > 0) return false;
    const { fields, shownOnce } = newResource(environment, token, { name: ADMIN, roles: [ADMIN] });
    await writer.insert(token, { ...fields, created_at: environment.clock(), updated_at: null });
    writePrivateFile(file, `${String(shownOnce?.token)}\n`);
    return true;
  });
}

/** Replaces `file` in one step by one that only this user can read. */
function writePrivateFile(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}`;
  const descriptor = openSync(temporary, 'wx', 0o600);
  writeSync(descriptor, content);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(temporary, file);
}
