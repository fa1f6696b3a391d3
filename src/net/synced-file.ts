import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { createFolder } from './files.ts';

/** The mode of a file, and its owner and group if these differ from those of the process. */
interface FileAccess {
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Replaces `file` atomically, and creates its folder. The file and its name are on disk when the
 * function returns. By default, only the user of the process can access the file. Deletes the
 * temporary file after a failure. Throws Node's errors.
 */
export function writeSyncedFile(
  file: string,
  content: string,
  { mode, uid, gid }: FileAccess = { mode: 0o600 },
): void {
  const folder = dirname(file);
  createFolder(folder);
  const temporary = `${file}.${randomUUID()}`;
  try {
    withDescriptor(openSync(temporary, 'wx', 0o600), (descriptor) => {
      writeFileSync(descriptor, content);
      if (uid !== undefined && gid !== undefined) fchownSync(descriptor, uid, gid);
      fchmodSync(descriptor, mode & 0o777);
      fsyncSync(descriptor);
    });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncPath(folder);
}

/** Syncs a file, or the entries of a folder, to disk. */
export function syncPath(path: string): void {
  withDescriptor(openSync(path, 'r'), fsyncSync);
}

export function withDescriptor(descriptor: number, work: (descriptor: number) => void): void {
  try {
    work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
