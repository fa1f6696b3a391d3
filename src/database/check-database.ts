import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ServiceError } from '../core/errors.ts';
import { withoutPassword } from '../core/text/database-url.ts';
import { parseDatabase } from '../sql/databases.ts';
import { assertSchema, NEWEST_SCHEMA } from '../sql/migrate.ts';
import { assertKeys, openKeyring, type DatabaseAccess } from '../secrets/store/open-keyring.ts';

/** Changes nothing. Returns what works, as a sentence. Throws what is wrong. */
export async function checkDatabase({
  database,
  databasePool,
  encryption,
}: DatabaseAccess): Promise<string> {
  const { kind, location } = parseDatabase(database);
  if (!kind.shared) return checkFile(resolve(location));
  const snapshot = await kind.openSnapshot(location, databasePool);
  const check = async () => {
    await assertKeys(snapshot, openKeyring(database, encryption));
    return assertSchema(snapshot);
  };
  const schema = await check().finally(() => snapshot.close());
  const state =
    schema === NEWEST_SCHEMA
      ? `has schema ${schema}`
      : `needs schema ${NEWEST_SCHEMA}. The service updates the schema at startup`;
  return `The database '${withoutPassword(database)}' responds and ${state}.`;
}

/** The first bytes of every SQLite file (https://www.sqlite.org/fileformat.html section 1.3). */
const SQLITE_HEADER = 'SQLite format 3\0';

/** Takes no lock, because a service may be using the file. */
function checkFile(path: string): Promise<string> {
  if (!existsSync(path)) {
    const folder = nearestFolder(dirname(path));
    accessSync(folder, constants.W_OK | constants.X_OK);
    return Promise.resolve(`The service creates the database file '${path}' at startup.`);
  }
  if (!statSync(path).isFile()) throw new ServiceError('bad_request', `'${path}' is not a file`);
  accessSync(path, constants.R_OK | constants.W_OK);
  accessSync(dirname(path), constants.W_OK | constants.X_OK);
  const head = readStart(path, SQLITE_HEADER.length);
  if (head !== '' && head !== SQLITE_HEADER)
    throw new ServiceError('bad_request', `'${path}' is not a SQLite database`);
  return Promise.resolve(`The database file '${path}' can be read and written.`);
}

function nearestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

function readStart(path: string, length: number): string {
  const descriptor = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, length, 0));
  } finally {
    closeSync(descriptor);
  }
}
