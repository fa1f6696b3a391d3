import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';

const PAGE_BYTES = 4096;

/**
 * How many pages the log grows to before they go to the database file: 32 MB, as a page that changes often goes there once, and less
 * where the disk has less than four times as much room. A log that took the last of it could never be emptied.
 */
const CHECKPOINT_PAGES = { most: 8000, least: 1000, partOfRoom: 1 / 4 };

/** What to do before a commit, so that the log it adds to is emptied in time. */
export function logFitter(writer: DatabaseSyncInstance, path: string): () => void {
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

/** The driver keeps a connection half open until its statements are collected as garbage, so closing alone would leave the log. */
export function emptyLog(writer: DatabaseSyncInstance): void {
  try {
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Nothing is lost: the next start reads the log.
  }
}
