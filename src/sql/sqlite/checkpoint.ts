import { isObject } from '../../core/field.ts';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ServiceError } from '../../core/errors.ts';
import { LOCK_WAIT_MS, pauseForLock, retryWhileBusy } from './connection/busy.ts';
import { translate } from './connection/sqlite-faults.ts';

const PAGE_BYTES = 4096;

/**
 * The number of WAL pages after which SQLite runs a checkpoint: 32 MB. A large WAL saves writes,
 * because a checkpoint writes each page once. A checkpoint needs disk space. So the WAL uses at
 * most a quarter of the free space, but at least 1,000 pages.
 */
const CHECKPOINT_PAGES = { most: 8000, least: 1000, partOfRoom: 1 / 4 };

/**
 * Returns a function to call before each commit. The function sets the WAL size at which SQLite
 * runs a checkpoint.
 */
export function walFitter(writer: DatabaseSyncInstance, path: string): () => void {
  const { most, least, partOfRoom } = CHECKPOINT_PAGES;
  let fitted: number | undefined;
  return () => {
    const pages = Math.max(
      least,
      Math.min(most, Math.floor((roomBeside(path) * partOfRoom) / PAGE_BYTES)),
    );
    if (pages !== fitted) writer.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    fitted = pages;
  };
}

/** Returns the free bytes; 0 if the system does not report the number. */
function roomBeside(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/**
 * Runs a checkpoint of the whole WAL and truncates it. Waits at most `LOCK_WAIT_MS` for programs
 * that read the WAL. Closing the connections does not truncate the WAL, because the driver keeps
 * each connection open until its statements are garbage-collected.
 */
export async function emptyWal(writer: DatabaseSyncInstance): Promise<void> {
  try {
    await truncateWal(writer);
  } catch {
    // No data is lost, because SQLite reads the WAL at the next start.
  }
}

/**
 * Rewrites the whole database at `path` without the remains of deleted rows, and truncates the WAL.
 * Throws `unavailable` if another program reads the database, because the files then still contain
 * old pages.
 */
export async function rewriteFile(writer: DatabaseSyncInstance, path: string): Promise<void> {
  try {
    await retryWhileBusy(() => writer.exec('VACUUM'));
    if (await truncateWal(writer)) return;
  } catch (error) {
    throw translate(error, path);
  }
  throw new ServiceError(
    'unavailable',
    `Another program reads the database '${path}', so old pages stay in its files. Stop that program and repeat the command`,
  );
}

/**
 * Runs a checkpoint and truncates the WAL. If another program reads the WAL, SQLite reports this in
 * the result instead of an error. Returns whether the checkpoint succeeded within `LOCK_WAIT_MS`.
 */
async function truncateWal(writer: DatabaseSyncInstance): Promise<boolean> {
  const until = performance.now() + LOCK_WAIT_MS;
  const checkpoint = writer.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  const isBusy = () => {
    const row: unknown = checkpoint.get();
    return isObject(row) && row.busy !== 0;
  };
  while (isBusy()) {
    if (performance.now() >= until) return false;
    await pauseForLock();
  }
  return true;
}
