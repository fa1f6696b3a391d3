import { chmodSync, closeSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ServiceError } from '../../domain/model/errors.ts';

/** Makes the file and its folder, readable by nobody else, and returns the file's real path. */
export function preparePrivateFile(path: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    createFile(path);
    const mode = statSync(path).mode & 0o777;
    if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700);
    return realpathSync(path);
  } catch (cause) {
    throw new ServiceError('unavailable', 'The database cannot be opened', { cause });
  }
}

/** A file that exists is not opened: closing it again would drop the locks that SQLite holds on it in this process (POSIX). */
function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
