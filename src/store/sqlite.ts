import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { chmodSync, closeSync, mkdirSync, openSync, realpathSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import type { Database, DatabaseObserver, Dialect, Sql, SqlRow, SqlValue } from './sql.ts';
import { startGroupCommit } from './group-commit.ts';

const dialect: Dialect = {
  text: 'TEXT',
  like: 'GLOB',
  likePattern: (pattern) => pattern.replaceAll(/[?[]/g, '[$&]').replaceAll(/\*+/g, '*'),
  isUniqueViolation: (error) => [SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE].includes(resultCode(error)),
};

const SQLITE_BUSY = 5;
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555;
const SQLITE_CONSTRAINT_UNIQUE = 2067;

/** Primary result codes (https://www.sqlite.org/rescode.html) that tell of the machine, not of a mistake in the program. */
const MACHINE_FAULTS: Readonly<Record<number, string>> = {
  [SQLITE_BUSY]: 'it is locked by another program',
  6: 'it is locked',
  7: 'memory ran out',
  8: 'it cannot be written (read-only file or file system)',
  10: 'reading or writing the file failed',
  11: 'the file is damaged; restore a backup',
  13: 'the disk is full',
  14: 'the file cannot be opened',
  15: 'its locks do not work on this file system',
  26: 'the file is not a SQLite database',
};

const PAGE_BYTES = 4096;

/**
 * How many pages the log grows to before they go to the database file: 32 MB, as a page that changes often goes there once, and less
 * where the disk has less than four times as much room. A log that took the last of it could never be emptied.
 */
const CHECKPOINT_PAGES = { most: 8000, least: 1000, partOfRoom: 1 / 4 };

/** Statements kept prepared per connection; the service has a few dozen. */
const MAX_STATEMENTS = 500;

/**
 * Opens, or creates, the SQLite file at `location` for this process alone. Creates missing folders; files are
 * private to the user who runs the service. Throws `unavailable` when another process has the file open
 * or the file cannot be used.
 */
export async function openSqlite(location: string, observer: DatabaseObserver): Promise<Database> {
  const path = preparePrivateFile(resolve(location));
  const connections = [lock(path)];
  const connect = (...pragmas: string[]) => {
    const connection = new DatabaseSync(path);
    connections.push(connection);
    for (const pragma of ['busy_timeout = 5000', 'foreign_keys = ON', 'temp_store = MEMORY', ...pragmas]) connection.exec(`PRAGMA ${pragma}`);
    return connection;
  };
  const disconnect = () => {
    for (const connection of connections.splice(0).reverse()) connection.close();
  };
  try {
    const writer = connect('journal_mode = WAL', 'synchronous = FULL');
    const fitLog = logFitter(writer, path);
    const { reads, end: endSnapshot } = sharedSnapshot(connect('query_only = ON'), path);
    const commits = startGroupCommit(sqlOn(writer, translated(path)), observer, () => {
      endSnapshot();
      fitLog();
    });
    return {
      dialect,
      exclusive: true,
      reads,
      write: commits.write,
      migrate: commits.write,
      async close() {
        await commits.close();
        if (connections.length > 0) {
          endSnapshot();
          emptyLog(writer);
        }
        disconnect();
      },
    };
  } catch (error) {
    disconnect();
    throw translate(error, path);
  }
}

/**
 * Copies the database at `location` into the new file `target`, whether the service runs or not, and leaves no file
 * behind when it fails. Throws `unavailable`, and Node's error when `target` exists or cannot be made.
 */
export function backUpSqlite(location: string, target: string): void {
  const source = resolve(location);
  closeSync(openSync(target, 'wx', 0o600));
  try {
    const connection = new DatabaseSync(source, { readOnly: true });
    try {
      connection.exec('PRAGMA busy_timeout = 5000');
      connection.prepare('VACUUM INTO ?').run(target);
    } finally {
      connection.close();
    }
  } catch (error) {
    rmSync(target, { force: true });
    throw translate(error, source);
  }
}

/** Makes the file and its folder, readable by nobody else, and returns the file's real path. */
function preparePrivateFile(path: string): string {
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

/**
 * Keeps every other process off the database until the returned connection is closed or this process ends, however
 * it ends: an exclusive lock on a file beside the database, which the operating system holds for us.
 */
function lock(path: string): DatabaseSyncInstance {
  const guardPath = preparePrivateFile(`${path}-lock`);
  const guard = new DatabaseSync(guardPath);
  try {
    guard.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    guard.close();
    if (primaryCode(error) !== SQLITE_BUSY) throw translate(error, guardPath);
    throw new ServiceError(
      'unavailable',
      `Another process is using the database ${path}: stop that one first, or give this one a database of its own`,
    );
  }
  return guard;
}

/** What to do before a commit, so that the log it adds to is emptied in time. */
function logFitter(writer: DatabaseSyncInstance, path: string): () => void {
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
function emptyLog(writer: DatabaseSyncInstance): void {
  try {
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Nothing is lost: the next start reads the log.
  }
}

/**
 * Reads on `connection` that share a snapshot, which saves each of them locks of its own: as no other process writes, what was
 * committed stays as it is until this one commits. `end` gives the snapshot up, and the next read takes a new one. It has to be
 * called before every commit, which can then empty the log as well.
 */
function sharedSnapshot(connection: DatabaseSyncInstance, path: string): { reads: Sql; end(): void } {
  const end = () => {
    if (connection.isTransaction) connection.exec('ROLLBACK');
  };
  const inSnapshot = <T>(read: () => T): T => {
    try {
      if (!connection.isTransaction) connection.exec('BEGIN');
      return read();
    } catch (error) {
      end();
      throw translate(error, path);
    }
  };
  return { reads: sqlOn(connection, inSnapshot), end };
}

/** Runs statements on `connection`, each by way of `run`, which throws what is to be thrown. */
function sqlOn(connection: DatabaseSyncInstance, run: <T>(work: () => T) => T): Sql {
  const change = kept((text) => connection.prepare(text));
  const row = kept((text) => prepareRow(connection, text));
  const page = kept((text) => preparePage(connection, text));
  return {
    all: async (text, parameters) => run(() => page(text)(parameters)),
    one: async (text, parameters) => run(() => row(text)(parameters)),
    run: async (text, parameters) => run(() => change(text).run(...parameters).changes),
  };
}

/** Runs `work` and throws what an operator can do something about as `unavailable`. */
function translated(path: string): <T>(work: () => T) => T {
  return (work) => {
    try {
      return work();
    } catch (error) {
      throw translate(error, path);
    }
  };
}

/** What `prepare` makes of a statement's text, made once for each text. */
function kept<T>(prepare: (text: string) => T): (text: string) => T {
  const statements = new Map<string, T>();
  return (text) => {
    const known = statements.get(text);
    if (known !== undefined) return known;
    if (statements.size >= MAX_STATEMENTS) statements.clear();
    const statement = prepare(text);
    statements.set(text, statement);
    return statement;
  };
}

/** A query of one row that is ready to run. */
function prepareRow(connection: DatabaseSyncInstance, text: string): (parameters: readonly SqlValue[]) => SqlRow | undefined {
  const statement = connection.prepare(text);
  const columns = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  return (parameters) => {
    const row = statement.get(...parameters) as unknown[] | undefined;
    return row && rowOf(columns, row);
  };
}

/**
 * A query that is ready to run. All rows of a SELECT leave the database in one JSON text: made and parsed, that takes less than half
 * the time of handing over every value by itself. Columns hold text, integers and null, which JSON keeps as they are.
 */
function preparePage(connection: DatabaseSyncInstance, text: string): (parameters: readonly SqlValue[]) => SqlRow[] {
  const plain = connection.prepare(text);
  if (!text.startsWith('SELECT')) return (parameters) => plain.all(...parameters) as SqlRow[];
  const columns = plain.columns().map(({ name }) => name);
  const values = columns.map((name) => `"${name}"`).join(', ');
  const statement = connection.prepare(`SELECT json_group_array(json_array(${values})) AS page FROM (${text})`);
  return (parameters) => {
    const { page } = statement.get(...parameters) as { page: string };
    return (JSON.parse(page) as unknown[][]).map((row) => rowOf(columns, row));
  };
}

function rowOf(columns: readonly string[], values: readonly unknown[]): SqlRow {
  const row: SqlRow = {};
  for (let index = 0; index < columns.length; index += 1) row[columns[index] as string] = values[index];
  return row;
}

function primaryCode(error: unknown): number {
  return resultCode(error) & 0xff;
}

function resultCode(error: unknown): number {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code : 0;
}

/** The driver gives no result code when a query fails at one of its rows, which only the machine can make it do. */
function isReadFault(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && errcode === undefined;
}

/** Machine faults become `unavailable`; anything else is a constraint or a mistake of ours and stays as it is. */
function translate(error: unknown, path: string): unknown {
  const fault = MACHINE_FAULTS[primaryCode(error)] ?? (isReadFault(error) ? 'reading the file failed; it may be damaged' : undefined);
  if (fault === undefined) return error;
  return new ServiceError('unavailable', `The database cannot be used: ${fault}`, {
    retryAfterSeconds: 5,
    cause: new Error(`${path}: ${(error as Error).message}`, { cause: error }),
  });
}
