import { DatabaseSync } from '@photostructure/sqlite';
import {
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isObject } from '../../core/field.ts';
import { ServiceError } from '../../core/errors.ts';
import { codeOf } from '../../net/faults.ts';
import { createFolder } from '../../net/files.ts';
import { syncPath, withDescriptor } from '../../net/synced-file.ts';
import type { Snapshot } from '../sql.ts';
import { copyInto, NO_LINKS } from './backup.ts';
import { translate } from './connection/sqlite-faults.ts';
import { identify, isSameFile } from './file-watch.ts';
import { lockFileBeside } from './lock.ts';
import { openSqliteSnapshot, readSnapshot } from './read-only.ts';

/** A copy of a backup, beside the database that it will replace. */
interface StagedRestore {
  readonly copy: string;
  readonly target: string;
  readonly exists: boolean;
  /** Opens the database to replace, read-only. Throws `unavailable` if it cannot be read. */
  openReplaced(): Promise<Snapshot>;
  /**
   * Puts the copy in the place of the database. A process that is killed at any step leaves the old
   * or the new database whole. The copy must be closed. Returns the new path of the old database;
   * undefined if there was none. Throws `unavailable` and Node's errors.
   */
  publish(): string | undefined;
  /** Deletes the copy unless it is published, and lets services open the database. */
  close(): void;
}

/** The files that SQLite keeps beside a database in use. */
const SIDE_FILES = ['-wal', '-shm', '-journal'];

/** The name of the folder of a copy, after the name of the database. */
const FOLDER = /^\.restore-\w{6}$/;

/**
 * Checks a backup with SQLite's integrity check, and copies it into a folder beside the database at
 * `location`. No service can open the database until `close`. Changes neither the backup nor the
 * database. Throws `bad_request` if the backup does not exist or is damaged, and `unavailable` if a
 * service uses one of the files.
 */
export async function stageRestore(file: string, location: string): Promise<StagedRestore> {
  const target = realPathOf(resolve(location));
  const source = resolve(file);
  if (isSameFile(identify(source), identify(target)))
    throw new ServiceError('bad_request', `'${file}' is the database itself. Use a backup`);
  const owner = ownerOf(target);
  await checkIntegrity(file, source);
  const lock = lockFileBeside(target);
  try {
    if (owner.isRoot) chownSync(`${target}-lock`, owner.uid, owner.gid);
    removeLeftovers(target);
    const folder = mkdtempSync(`${target}.restore-`);
    const copy = join(folder, basename(target));
    const removeFolder = () => rmSync(folder, { recursive: true, force: true });
    try {
      closeSync(openSync(copy, 'wx', 0o600));
      copyInto(source, copy);
    } catch (error) {
      removeFolder();
      throw translate(error, source);
    }
    let isReadable = false;
    return {
      copy,
      target,
      exists: existsSync(target),
      async openReplaced() {
        const snapshot = await readSnapshot(target);
        isReadable = true;
        return snapshot;
      },
      publish: () => publish(copy, target, owner, isReadable),
      close() {
        removeFolder();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

async function checkIntegrity(file: string, source: string): Promise<void> {
  const snapshot = await openSqliteSnapshot(source);
  try {
    const rows = await snapshot.reads.all('PRAGMA integrity_check(3)', []);
    const problems = rows.map((row) => String(row.integrity_check));
    if (problems.join() !== 'ok')
      throw new ServiceError(
        'bad_request',
        `The backup '${file}' is damaged (${problems.join('; ')}). Use another backup`,
      );
  } finally {
    await snapshot.close();
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  /** Whether this process may set another owner. */
  readonly isRoot: boolean;
}

/**
 * Returns the owner and mode of the database, or else the owner of its folder. Throws `bad_request`
 * if another user owns the database: the service could not open the new file.
 */
function ownerOf(target: string): Owner {
  createFolder(dirname(target));
  const file = statSync(target, { throwIfNoEntry: false });
  const { uid, gid } = file ?? statSync(dirname(target));
  const isRoot = process.getuid?.() === 0;
  if (file !== undefined && !isRoot && uid !== process.getuid?.())
    throw new ServiceError(
      'bad_request',
      `The database '${target}' belongs to the user with the id ${uid}. Run the command as this user or as root`,
    );
  return { uid, gid, mode: (file?.mode ?? 0o600) & 0o777, isRoot };
}

/** Removes what a killed restore has left beside the database: its copy, and its second name. */
function removeLeftovers(target: string): void {
  const [folder, name, file] = [dirname(target), basename(target), identify(target)];
  for (const entry of readdirSync(folder).filter((other) => other.startsWith(name))) {
    const path = join(folder, entry);
    const rest = entry.slice(name.length);
    const found = identify(path);
    if (FOLDER.test(rest)) rmSync(path, { recursive: true, force: true });
    else if (rest.startsWith('.replaced-') && isSameFile(found, file)) rmSync(path);
  }
}

function publish(
  copy: string,
  target: string,
  { uid, gid, mode, isRoot }: Owner,
  isReadable: boolean,
): string | undefined {
  if (!isEmptied(copy)) throw inUse(copy);
  withDescriptor(openSync(copy, 'r+'), (descriptor) => {
    if (isRoot) fchownSync(descriptor, uid, gid);
    fchmodSync(descriptor, mode);
    fsyncSync(descriptor);
  });
  const aside = existsSync(target) ? keepAside(target, isReadable) : undefined;
  renameSync(copy, target);
  syncPath(dirname(target));
  return aside;
}

/**
 * Gives the database a second name, which stays when the first one gets the new file. SQLite would
 * apply a WAL of the old database to the new one, so the WAL is first written into the old file. A
 * database that cannot be read is not opened, and keeps its WAL under the second name only.
 */
function keepAside(target: string, isReadable: boolean): string {
  const time = new Date().toISOString().slice(0, 23).replaceAll(/[-:.]/g, '');
  const aside = `${target}.replaced-${time}`;
  if (isReadable && !isEmptied(target)) throw inUse(target);
  const sideFiles = SIDE_FILES.filter((suffix) => existsSync(`${target}${suffix}`));
  link(target, aside);
  if (!isReadable) for (const suffix of sideFiles) link(`${target}${suffix}`, `${aside}${suffix}`);
  syncPath(dirname(target));
  for (const suffix of sideFiles) rmSync(`${target}${suffix}`);
  return aside;
}

/** Writes the WAL of a database into its file. Returns whether nothing is left in the WAL. */
function isEmptied(path: string): boolean {
  const connection = new DatabaseSync(path);
  try {
    connection.exec('PRAGMA busy_timeout = 5000');
    const row: unknown = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
    return isObject(row) && row.busy === 0 && (wal === undefined || wal.size === 0);
  } finally {
    connection.close();
  }
}

function link(path: string, name: string): void {
  try {
    linkSync(path, name);
  } catch (error) {
    if (!NO_LINKS.includes(codeOf(error))) throw error;
    copyFileSync(path, name);
    syncPath(name);
  }
}

function realPathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function inUse(path: string): ServiceError {
  return new ServiceError(
    'unavailable',
    `Another program has the database '${path}' open. End it, and repeat the command`,
  );
}
