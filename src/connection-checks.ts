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
import { keystoneTokens } from './auth/keystone.ts';
import type { Config } from './config/options.ts';
import { ServiceError } from './domain/model/errors.ts';
import { withoutPassword } from './domain/text/database-url.ts';
import { describeFault, faultOf } from './net/faults.ts';
import { assertKeys, openKeyring } from './store/open-keyring.ts';
import { parseDatabase } from './store/databases.ts';
import { assertSchema, NEWEST_SCHEMA } from './store/migrate.ts';

/** The outcome of one check: what works, or what is wrong. */
export interface ConnectionCheck {
  readonly works: boolean;
  readonly message: string;
}

/**
 * Connects to the database, and to Keystone if the configuration uses Keystone. Changes nothing.
 * Returns the outcome of each check.
 */
export async function checkConnections(config: Config): Promise<ConnectionCheck[]> {
  const checks = [outcomeOf(`'database'`, () => checkDatabase(config))];
  if (config.auth.method.includes('keystone'))
    checks.push(outcomeOf(`'auth.keystone'`, () => checkKeystone(config)));
  return Promise.all(checks);
}

async function outcomeOf(setting: string, check: () => Promise<string>): Promise<ConnectionCheck> {
  try {
    return { works: true, message: await check() };
  } catch (error) {
    return { works: false, message: `${setting}: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ServiceError)) return faultOf(error).reason;
  const { cause } = error.details;
  return cause instanceof Error ? `${error.message} (${describeFault(cause)})` : error.message;
}

async function checkDatabase({ database, databasePool, encryption }: Config): Promise<string> {
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

/**
 * Checks the file of an embedded database. Takes no lock, because a service may be using the file.
 */
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

/** An invalid token. Keystone returns a different error if the service may not validate tokens. */
const UNKNOWN_TOKEN = 'check-of-the-configuration';

/** What the operator should check, for each reason that Keystone or the HTTP client states. */
const REMEDIES: readonly (readonly [reason: RegExp, advice: string])[] = [
  [
    /returned 401 for the service's own/,
    "Check 'auth.keystone.username', 'password', 'project' and the names of their domains, or the application credential.",
  ],
  [
    /returned 403 for a token validation request/,
    "Assign the role 'service' to the service's user in its project: openstack role add --project PROJECT --user USER service",
  ],
  [/certificate|TLS/i, "Check 'auth.keystone.caFile' and the host in 'auth.keystone.url'."],
  [/./, "Check 'auth.keystone.url' and whether Keystone runs there."],
];

async function checkKeystone({ auth: { keystone } }: Config): Promise<string> {
  const method = keystoneTokens(keystone, {
    validated: () => undefined,
    cacheHit: () => undefined,
  });
  try {
    await method.authenticate(UNKNOWN_TOKEN);
  } catch (error) {
    const { cause } = error instanceof ServiceError ? error.details : { cause: error };
    const reason = cause instanceof Error ? describeFault(cause) : String(cause);
    const remedy = REMEDIES.find(([pattern]) => pattern.test(reason))?.[1] ?? '';
    throw new ServiceError('bad_request', `${reason}. ${remedy}`);
  } finally {
    method.close();
  }
  return `Keystone at '${keystone.url}' responds, and the service may validate tokens.`;
}
