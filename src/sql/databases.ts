import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ServiceError } from '../core/errors.ts';
import {
  DATABASE_FORMS,
  parseDatabaseUrl,
  withoutPassword,
  type DatabaseForm,
  type DatabaseScheme,
} from '../core/text/database-url.ts';
import type {
  Database,
  DatabaseObserver,
  DatabaseSettings,
  NetworkLink,
  ServingSettings,
  Snapshot,
} from './sql.ts';

/** A kind of database that the service supports. `open` and `openSnapshot` load its driver. */
interface DatabaseKind extends DatabaseForm {
  /**
   * Opens the database at `location`, the part of the URL after the scheme. Throws `unavailable` if
   * the database cannot be opened.
   */
  open(location: string, observer: DatabaseObserver, settings: ServingSettings): Promise<Database>;
  /**
   * Opens the database read-only. Throws `bad_request` if the database does not exist, and
   * `unavailable` if the database cannot be opened.
   */
  openSnapshot(location: string, settings: DatabaseSettings): Promise<Snapshot>;
  /** Returns the network connection to the database; undefined for files and Unix sockets. */
  linkTo(location: string): Promise<NetworkLink | undefined>;
  /** Returns the folder for the files of the service, such as the first token. */
  folder(location: string): string;
}

const postgres: DatabaseKind = {
  ...DATABASE_FORMS.postgres,
  open: async (...details) => (await import('./postgres/open.ts')).openPostgres(...details),
  openSnapshot: async (...details) =>
    (await import('./postgres/open.ts')).openPostgresSnapshot(...details),
  linkTo: async (location) => (await import('./postgres/connection.ts')).linkTo(location),
  folder: () => resolve('var'),
};

const DATABASES: Readonly<Record<DatabaseScheme, DatabaseKind>> = {
  sqlite: {
    ...DATABASE_FORMS.sqlite,
    open: async (...details) => (await import('./sqlite/open.ts')).openSqlite(...details),
    openSnapshot: async (location) =>
      (await import('./sqlite/read-only.ts')).openSqliteSnapshot(location),
    linkTo: async () => undefined,
    folder: (location) => dirname(resolve(location)),
  },
  postgres,
  postgresql: postgres,
};

/** Returns the kind and location of a database URL. Throws `Error` for an invalid URL. */
export function parseDatabase(url: string): { kind: DatabaseKind; location: string } {
  const parts = parseDatabaseUrl(url);
  if (parts === undefined)
    throw new Error('Invalid database URL. Use sqlite:PATH or postgres://USER@HOST/NAME.');
  return { kind: DATABASES[parts.scheme], location: parts.location };
}

/** Throws `unavailable` if `setting` names a file that does not exist. */
export function assertExists(setting: string): void {
  const { kind, location } = parseDatabase(setting);
  if (!kind.shared && !existsSync(resolve(location)))
    throw new ServiceError(
      'unavailable',
      `The database '${resolve(location)}' does not exist. Use --config FILE of the service, or run the command in the folder in which it runs`,
    );
}

/** Returns a database as messages and marks name it: a file with its whole path, no password. */
export function shownDatabase(setting: string): string {
  const { kind, location } = parseDatabase(setting);
  return kind.shared ? withoutPassword(setting) : `sqlite:${resolve(location)}`;
}
