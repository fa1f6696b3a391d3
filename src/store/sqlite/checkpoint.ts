import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { LOCK_WAIT_MS, pauseForLock } from './connection/busy.ts';

const PAGE_BYTES = 4096;

/**
 * How many pages the WAL grows to before SQLite moves them to the database file: 32 MB, because a page that changes often moves once.
 * The WAL stays smaller where the disk has less than four times as much room: one that takes the last of it can never be emptied.
 */
const CHECKPOINT_PAGES = { most: 8000, least: 1000, partOfRoom: 1 / 4 };

/** Returns what to run before each commit, so that SQLite moves the WAL into the database file in time. */
export function walFitter(writer: DatabaseSyncInstance, path: string): () => void {
  const { most, least, partOfRoom } = CHECKPOINT_PAGES;
  let fitted: number | undefined;
  return () => {
    const pages = Math.max(least, Math.min(most, Math.floor((roomBeside(path) * partOfRoom) / PAGE_BYTES)));
    if (pages !== fitted) writer.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    fitted = pages;
  };
}

/** How many bytes may be written on the file system of `path`; none where it cannot tell. */
function roomBeside(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/**
 * Moves the whole WAL into the database file and empties it. Waits at most `LOCK_WAIT_MS` for programs that read it. Closing the
 * connections is not enough: the driver keeps each half open until its statements are collected as garbage.
 */
export async function emptyWal(writer: DatabaseSyncInstance): Promise<void> {
  const until = performance.now() + LOCK_WAIT_MS;
  try {
    const checkpoint = writer.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
    const isBusy = () => (checkpoint.get() as { busy: number }).busy !== 0;
    while (isBusy() && performance.now() < until) await pauseForLock();
  } catch {
    // Nothing is lost: the next start reads the WAL.
  }
}
