import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { ServiceError } from '../../core/errors.ts';
import type { DatabaseObserver } from '../sql.ts';

/** The identity of a file. Two paths refer to the same file if both numbers are equal. */
interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/** Returns undefined if the file does not exist, or if its identity cannot be read. */
export function identify(path: string): FileIdentity | undefined {
  try {
    return statSync(path, NO_ERROR);
  } catch {
    return undefined;
  }
}

const NO_ERROR = { throwIfNoEntry: false } as const;

/**
 * Returns a function that throws `unavailable` if a file of the database was removed or replaced.
 * The files are the database file at `location`, and the WAL and shared memory files beside its
 * real `path`. SQLite continues to write to a removed file, and the data is lost when the process
 * exits. `file` is the identity that the database file had when the connections opened it. The
 * function reports the fault to `observer` once.
 */
export function watchFiles(
  location: string,
  file: FileIdentity | undefined,
  path: string,
  observer: DatabaseObserver,
): () => void {
  const known = [location, `${path}-wal`, `${path}-shm`].map((name, index) => ({
    name,
    file: index === 0 ? file : identify(name),
  }));
  let reported = false;
  return () => {
    const lost = known.find(({ name, file }) => !isSameFile(file, identify(name)));
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

export function isSameFile(
  known: FileIdentity | undefined,
  found: FileIdentity | undefined,
): boolean {
  return (
    known !== undefined && found !== undefined && known.ino === found.ino && known.dev === found.dev
  );
}

function lostError(path: string): ServiceError {
  return new ServiceError(
    'unavailable',
    `The database file '${basename(path)}' was removed or replaced. The service refuses changes, because they would be lost`,
    {
      retryAfterSeconds: 5,
      cause: new Error(
        `'${path}' is not the file that the service opened. Copy its data before you stop the service: see "The database file was removed" in docs/monitoring.md`,
      ),
    },
  );
}
