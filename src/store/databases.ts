import { dirname, resolve } from 'node:path';
import { DATABASE_FORMS, parseDatabaseUrl, type DatabaseForm, type DatabaseScheme } from '../domain/model/database-url.ts';
import type { Database, DatabaseObserver, DatabaseSettings, NetworkLink, ServingSettings, Snapshot } from './sql/sql.ts';

/** One kind of database. Its driver is loaded when it is opened. */
export interface DatabaseKind extends DatabaseForm {
  /** Opens the database at `location`, which is what follows the scheme in the configuration. Throws `unavailable`. */
  open(location: string, observer: DatabaseObserver, settings: ServingSettings): Promise<Database>;
  /** Opens it for reading alone. Throws `bad_request` if it does not exist, and `unavailable`. */
  openSnapshot(location: string, settings: DatabaseSettings): Promise<Snapshot>;
  /** How the database is reached over the network; undefined for files and Unix sockets. */
  linkTo(location: string): Promise<NetworkLink | undefined>;
  /** The folder for files that belong beside the database. */
  folder(location: string): string;
}

const postgres: DatabaseKind = {
  ...DATABASE_FORMS.postgres,
  open: async (...details) => (await import('./postgres/open.ts')).openPostgres(...details),
  openSnapshot: async (...details) => (await import('./postgres/read-only.ts')).openPostgresSnapshot(...details),
  linkTo: async (location) => (await import('./postgres/connection.ts')).linkTo(location),
  folder: () => resolve('var'),
};

/** The databases by the schemes of their URLs. */
const DATABASES: Readonly<Record<DatabaseScheme, DatabaseKind>> = {
  sqlite: {
    ...DATABASE_FORMS.sqlite,
    open: async (...details) => (await import('./sqlite/open.ts')).openSqlite(...details),
    openSnapshot: async (location) => (await import('./sqlite/read-only.ts')).openSqliteSnapshot(location),
    linkTo: async () => undefined,
    folder: (location) => dirname(resolve(location)),
  },
  postgres,
  postgresql: postgres,
};

/** Returns the kind and location that a database URL names. Throws `Error` if `url` is not one. */
export function parseDatabase(url: string): { kind: DatabaseKind; location: string } {
  const parts = parseDatabaseUrl(url);
  if (parts === undefined) throw new Error('Invalid database URL. Use sqlite:PATH or postgres://USER@HOST/NAME.');
  return { kind: DATABASES[parts.scheme], location: parts.location };
}
