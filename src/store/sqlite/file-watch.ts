import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { ServiceError } from '../../domain/model/errors.ts';
import type { DatabaseObserver } from '../sql/sql.ts';

/** A file whatever its name: two paths lead to the same file if both numbers are equal. */
interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/** Returns the file that `path` leads to, or undefined if there is none or the operating system cannot tell. */
export function identify(path: string): FileIdentity | undefined {
  try {
    return statSync(path, NO_ERROR);
  } catch {
    return undefined;
  }
}

const NO_ERROR = { throwIfNoEntry: false } as const;

/**
 * Returns a function that throws `unavailable` when the database file at `location`, or one of the two files that SQLite keeps beside its
 * real `path`, is not the file any more that the connections have open. SQLite itself goes on to write into a file that was removed, and
 * everything in it is gone once the process ends. `file` is the database file when the connections opened it. `observer` gets the fault once.
 */
export function watchFiles(location: string, file: FileIdentity | undefined, path: string, observer: DatabaseObserver): () => void {
  const known = [location, `${path}-wal`, `${path}-shm`].map((name, index) => ({ name, file: index === 0 ? file : identify(name) }));
  let reported = false;
  return () => {
    const lost = known.find(({ name, file }) => !isSame(file, identify(name)));
    if (lost === undefined) {
      reported = false;
      return;
    }
    const error = lostError(lost.name);
    if (!reported) observer.failed?.(error);
    reported = true;
    throw error;
  };
}

function isSame(known: FileIdentity | undefined, found: FileIdentity | undefined): boolean {
  return known !== undefined && found !== undefined && known.ino === found.ino && known.dev === found.dev;
}

function lostError(path: string): ServiceError {
  return new ServiceError(
    'unavailable',
    `The database file '${basename(path)}' was removed or replaced. The service refuses changes, because they would be lost`,
    {
      retryAfterSeconds: 5,
      cause: new Error(
        `${path} is not the file that the service opened. Copy its data before you stop the service: see "The database file was removed" in docs/operations.md`,
      ),
    },
  );
}
