import { chmodSync, closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFolder } from '../../net/files.ts';
import { ServiceError } from '../../core/errors.ts';
import { codeOf } from '../../net/faults.ts';

/**
 * Creates the file and its folder if they do not exist. Removes the file's permissions for other
 * users. Returns the real path of the file.
 */
export function preparePrivateFile(path: string): string {
  try {
    createFolder(dirname(path));
    createFile(path);
    const mode = statSync(path).mode & 0o777;
    if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700);
    return realpathSync(path);
  } catch (cause) {
    throw new ServiceError(
      'unavailable',
      `The database file '${path}' cannot be opened. Check the path and its permissions`,
      { cause },
    );
  }
}

/**
 * Creates a file. Does not open an existing file, because closing it would release SQLite's locks
 * in this process (POSIX).
 */
function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
