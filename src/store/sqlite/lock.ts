import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { ServiceError } from '../../domain/errors.ts';
import { isBusy, translate } from './faults.ts';
import { preparePrivateFile } from './private-file.ts';

/**
 * Keeps every other process off the database until the returned connection is closed or this process ends, however
 * it ends: an exclusive lock on a file beside the database, which the operating system holds for us.
 */
export function lock(path: string): DatabaseSyncInstance {
  const guardPath = preparePrivateFile(`${path}-lock`);
  const guard = new DatabaseSync(guardPath);
  try {
    guard.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    guard.close();
    if (!isBusy(error)) throw translate(error, guardPath);
    throw new ServiceError(
      'unavailable',
      `Another process is using the database ${path}: stop that one first, or give this one a database of its own`,
    );
  }
  return guard;
}
